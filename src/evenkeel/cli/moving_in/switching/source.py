"""The amphorae of a load balancer, and their ports at Neutron."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple

from evenkeel.cli.client import ApiRefused, Client, UsageError, quote_segment

ADDRESS_PAIRS_ATTRIBUTE = "allowed_address_pairs"
OCTAVIA_OWNER = "Octavia"
MOVING_OWNER = "evenkeel:moving"
"""``device_owner`` of a VIP's port while Octavia deletes the load balancer, so that the port stays: Octavia deletes
only ports that it owns.
"""
_AMPHORAE_PATH = "/v2.0/octavia/amphorae"
_SERVING_STATUSES = ("ALLOCATED", "FAILOVER_STOPPED")
_NOT_FOUND_STATUS = 404
_BINDING_HOST_ATTRIBUTE = "binding:host_id"


class SourceProblem(Exception):
    """The state of the source does not allow the load balancer to be switched; the text gives the reason."""


class Amphora(NamedTuple):
    """An amphora, which serves the load balancer in Octavia, with its port in the VIP's network."""

    id: str
    role: str
    port_id: str
    pairs: tuple[Mapping[str, Any], ...]
    """Allowed address pairs of the port."""

    def may_send_from(self, addresses: Iterable[str]) -> bool:
        """Whether the amphora's port may send from one of the addresses, by its allowed address pairs."""
        return bool(_canonical_addresses(addresses) & {_pair_address(pair) for pair in self.pairs})


class AmphoraSource:
    """An Octavia and its Neutron, used with an administrator's login."""

    def __init__(self, octavia: Client, neutron: Client) -> None:
        self._octavia = octavia
        self._neutron = neutron

    def load_balancer(self, load_balancer_id: str) -> Mapping[str, Any] | None:
        """Return the load balancer as Octavia shows it; None if there is none or it is deleted. Raises
        :class:`ClientError`.
        """
        try:
            found = self._octavia.get(f"/v2.0/lbaas/loadbalancers/{quote_segment(load_balancer_id)}")["loadbalancer"]
        except ApiRefused as error:
            if error.status == _NOT_FOUND_STATUS:
                return None
            raise
        return None if found["provisioning_status"] == "DELETED" else dict(found)

    def delete_load_balancer(self, load_balancer_id: str) -> None:
        """Have Octavia delete the load balancer with its children and amphorae. Raises :class:`ClientError`."""
        self._octavia.delete(f"/v2.0/lbaas/loadbalancers/{quote_segment(load_balancer_id)}", {"cascade": "true"})

    def amphorae(self, load_balancer_id: str) -> list[Amphora]:
        """Return the amphorae that serve the load balancer, with their ports' allowed address pairs.

        Raises :class:`SourceProblem` if there is none, or one whose port is missing or has no port security,
        so that it cannot be silenced; and :class:`ClientError`.
        """
        rows = self._octavia.get(_AMPHORAE_PATH, {"loadbalancer_id": load_balancer_id})["amphorae"]
        rows = [
            row for row in rows if row["status"] in _SERVING_STATUSES and row.get("loadbalancer_id") == load_balancer_id
        ]
        if not rows:
            raise SourceProblem(
                "Octavia shows no amphora of it: is it of provider amphora, and are you an administrator?"
            )
        return [self._amphora_from_row(row) for row in rows]

    def _amphora_from_row(self, row: Mapping[str, Any]) -> Amphora:
        port = self.port(str(row["vrrp_port_id"]))
        if port is None:
            raise SourceProblem(f"amphora {row['id']}: Neutron does not show its port {row['vrrp_port_id']}")
        if not port.get("port_security_enabled", True):
            raise SourceProblem(
                f"amphora {row['id']}: port security is off at its port {port['id']}, so that Neutron would not drop"
                " what it sends: switch it on first"
            )
        return Amphora(
            str(row["id"]), str(row.get("role") or ""), str(port["id"]), tuple(port.get(ADDRESS_PAIRS_ATTRIBUTE) or ())
        )

    def remove_addresses(self, amphora: Amphora, addresses: Iterable[str]) -> None:
        """Remove the addresses from the allowed address pairs of the amphora's port, so that Neutron drops
        packets that the amphora sends from them. Idempotent. Raises :class:`ClientError`.
        """
        gone = _canonical_addresses(addresses)
        self._set_address_pairs(amphora, [pair for pair in amphora.pairs if _pair_address(pair) not in gone])

    def allow_addresses(self, amphora: Amphora, addresses: Iterable[str]) -> None:
        """Add the addresses to the allowed address pairs of the amphora's port, as Octavia does. Idempotent.
        Raises :class:`ClientError`.
        """
        there = {_pair_address(pair) for pair in amphora.pairs}
        more = [{"ip_address": address} for address in addresses if str(ip_address(address)) not in there]
        self._set_address_pairs(amphora, [*amphora.pairs, *more])

    def port(self, port_id: str) -> Mapping[str, Any] | None:
        """Return a port as Neutron shows it; None if there is none. Raises :class:`ClientError`."""
        try:
            return dict(self._neutron.get(f"/v2.0/ports/{quote_segment(port_id)}")["port"])
        except ApiRefused as error:
            if error.status == _NOT_FOUND_STATUS:
                return None
            raise

    def is_bound(self, port_id: str) -> bool:
        """Whether a port exists and is bound to a host. Raises :class:`ClientError`."""
        port = self.port(port_id)
        return bool(port and port.get(_BINDING_HOST_ATTRIBUTE))

    def set_owner(self, port_id: str, owner: str) -> None:
        """Set a port's ``device_owner``. Raises :class:`ClientError`."""
        self._change_port(port_id, {"device_owner": owner})

    def _set_address_pairs(self, amphora: Amphora, pairs: list[Mapping[str, Any]]) -> None:
        if pairs != list(amphora.pairs):
            self._change_port(amphora.port_id, {ADDRESS_PAIRS_ATTRIBUTE: pairs})

    def _change_port(self, port_id: str, values: Mapping[str, Any]) -> None:
        self._neutron.put(f"/v2.0/ports/{quote_segment(port_id)}", {"port": dict(values)})


def _pair_address(pair: Mapping[str, Any]) -> str:
    """Return the address of an allowed address pair in canonical form; a network unchanged."""
    text = str(pair.get("ip_address"))
    try:
        return str(ip_address(text))
    except ValueError:
        return text


def _canonical_addresses(addresses: Iterable[str]) -> frozenset[str]:
    try:
        return frozenset(str(ip_address(each)) for each in addresses)
    except ValueError as error:
        raise UsageError(str(error)) from None
