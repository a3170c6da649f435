"""``evenkeel-octavia take-over-amphora``: a load balancer of provider ``amphora`` becomes one of ours, and back.

Octavia's API cannot change a provider, so the row is changed. The amphorae stay as they are: they are silenced by
Neutron, which drops what they send from the VIP once it is not in the allowed address pairs of their ports.

No step leaves a load balancer PENDING that nobody ends: the provider and PENDING_UPDATE are set together, and from then
on the provider agent ends it, also without this process. Each step may be repeated.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol

from evenkeel_octavia.convert import RequestBody, loadbalancer_body
from evenkeel_octavia.mirror import Mirror
from evenkeel_octavia.trees import PENDING_STATUSES, OctaviaSnapshot

AMPHORA_PROVIDER = "amphora"
ACTIVE, ERROR, PENDING_UPDATE = "ACTIVE", "ERROR", "PENDING_UPDATE"
LOOK_SECONDS = 0.1


class TakeOverError(Exception):
    """A load balancer cannot be taken over or given back; the text gives the reason."""


@dataclass(frozen=True, kw_only=True)
class TakenOverBalancer:
    """A load balancer in Octavia's database, with its amphorae."""

    id: str
    name: str
    provider: str
    status: str
    addresses: tuple[str, ...]
    """Addresses of the VIP and the additional VIPs."""
    amphorae: Mapping[str, str]
    """``{amphora id: id of its port in the VIP's network}`` of the amphorae that run."""
    has_flavor: bool = False


class AmphoraDatabase(Protocol):
    """Rows of Octavia's database that a take-over changes."""

    def balancer(self, id: str) -> TakenOverBalancer | None:
        """Read a load balancer that is not DELETED; None if there is none."""
        ...

    def trees(self, ids: Collection[str]) -> OctaviaSnapshot:
        """Read load balancers with all their objects, and the database's time."""
        ...

    def change_provider(
        self, id: str, before: str, after: str, *, statuses: Collection[str], status: str, without_flavor: bool = False
    ) -> bool:
        """Set provider and provisioning status in one statement, if the provider is ``before`` and the status one of
        ``statuses``; returns whether they were set.
        """
        ...

    def set_busy(self, amphorae: Collection[str], busy: bool) -> None:
        """Keep Octavia's health manager from failing over these amphorae (``busy``), or allow it again."""
        ...

    def give_up(self, amphorae: Collection[str]) -> None:
        """Set the status of these amphorae to ERROR, in which Octavia's API deletes them."""
        ...


class AmphoraPorts(Protocol):
    """Ports of VIPs and amphorae at Neutron."""

    def pairs(self, port_id: str) -> list[Mapping[str, Any]] | None:
        """Read a port's allowed address pairs; None if the port has no port security. Raises :class:`TakeOverError`."""
        ...

    def set_pairs(self, port_id: str, pairs: Sequence[Mapping[str, Any]]) -> None:
        """Set a port's allowed address pairs. Raises :class:`TakeOverError`."""
        ...


DeviceCheck = Callable[[str, RequestBody], None]
"""Has a controller check whether an environment's devices can have a load balancer. Raises ControllerError if not."""


class AmphoraTakeOver:
    """Moves load balancers from provider ``amphora`` to ``provider``, whose environment is
    ``environment``, and back.
    """

    def __init__(
        self,
        database: AmphoraDatabase,
        ports: AmphoraPorts,
        mirror: Mirror,
        check: DeviceCheck,
        *,
        provider: str,
        environment: str,
        timeout_seconds: float,
        gone_seconds: float = 60.0,
        without_flavor: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Initialize. ``timeout_seconds``: within which our devices must have the load balancer; ``gone_seconds``:
        within which they must have removed it; ``say``: prints a message.
        """
        self._database = database
        self._ports = ports
        self._mirror = mirror
        self._check = check
        self._provider = provider
        self._environment = environment
        self._timeout_seconds = timeout_seconds
        self._gone_seconds = gone_seconds
        self._without_flavor = without_flavor
        self._say = say

    def plan(self, id: str, *, back: bool = False) -> str:
        """Describe what taking over, or with ``give_back`` giving back, would do to the load balancer. Raises
        :class:`TakeOverError`, ControllerError.
        """
        found = self._get_balancer(id)
        title = f"{found.name} ({id})" if found.name else id
        ports = ", ".join(f"{amphora} (port {port})" for amphora, port in sorted(found.amphorae.items())) or "none"
        self._check_ports(found)
        if back:
            return f"{title}: provider {found.provider} becomes {AMPHORA_PROVIDER}; amphorae that speak again: {ports}"
        if found.provider == self._provider:
            return f"{title}: is of provider {self._provider} already; amphorae: {ports}"
        self._check_devices(found)
        flavor = ", without its flavor" if found.has_flavor and self._without_flavor else ""
        return f"{title}: becomes one of provider {self._provider}{flavor}; amphorae that fall silent: {ports}"

    def take_over(self, id: str) -> float:
        """Take a load balancer over. Returns the seconds from silencing the amphorae to the devices'
        confirmation; repeats what is missing if it was taken over before.

        Raises :class:`TakeOverError` or ControllerError; then everything is as before, unless giving back
        failed, which the error shows.
        """
        found = self._get_balancer(id)
        self._check_ports(found)
        if found.provider == AMPHORA_PROVIDER:
            self._check_devices(found)
        begun = time.monotonic()
        self._silence_amphorae(found)
        try:
            if found.provider == AMPHORA_PROVIDER and not self._database.change_provider(
                id,
                AMPHORA_PROVIDER,
                self._provider,
                statuses=(ACTIVE,),
                status=PENDING_UPDATE,
                without_flavor=self._without_flavor,
            ):
                raise TakeOverError(f"{id} is {found.status}: Octavia is changing it, try again")
            self._wait_until_active(id)
        except (Exception, KeyboardInterrupt) as error:
            self._say(f"{id}: going back: {error}")
            self.give_back(id)
            raise TakeOverError(f"{id}: {error or 'interrupted'}; everything is as before") from error
        return time.monotonic() - begun

    def give_back(self, id: str) -> None:
        """Give a load balancer back to its amphorae. Raises :class:`TakeOverError` or ControllerError; then a
        repetition completes it.

        Its status is ACTIVE at once, because Octavia's amphora driver serves it from then on.
        """
        found = self._get_balancer(id)
        if found.provider == self._provider and not self._database.change_provider(
            id, self._provider, AMPHORA_PROVIDER, statuses=(ACTIVE, ERROR, PENDING_UPDATE), status=ACTIVE
        ):
            raise TakeOverError(f"{id} is {found.status}: try again")
        self._remove_from_devices(id)
        for port in found.amphorae.values():
            self._allow_addresses(port, found.addresses)
        self._database.set_busy(tuple(found.amphorae), False)

    def finish(self, id: str) -> tuple[str, ...]:
        """Set the amphorae of a load balancer that was taken over to ERROR, because Octavia's API deletes
        only such amphorae.

        Returns their sorted ids. Raises :class:`TakeOverError` if the load balancer is not ACTIVE of this
        provider.
        """
        found = self._get_balancer(id)
        if (found.provider, found.status) != (self._provider, ACTIVE):
            raise TakeOverError(f"{id} is {found.status} of provider {found.provider}: it is not taken over")
        self._silence_amphorae(found)
        self._database.give_up(tuple(found.amphorae))
        return tuple(sorted(found.amphorae))

    # -- checks

    def _get_balancer(self, id: str) -> TakenOverBalancer:
        found = self._database.balancer(id)
        if found is None:
            raise TakeOverError(f"{id}: Octavia has no such load balancer")
        if found.provider not in (AMPHORA_PROVIDER, self._provider):
            raise TakeOverError(
                f"{id} is of provider {found.provider}, neither of {AMPHORA_PROVIDER} nor of {self._provider}"
            )
        return found

    def _check_ports(self, balancer: TakenOverBalancer) -> None:
        for amphora, port in balancer.amphorae.items():
            if self._ports.pairs(port) is None:
                raise TakeOverError(
                    f"{balancer.id}: port security is off at port {port} of amphora {amphora}, so that Neutron would"
                    " not drop what it sends: switch it on first"
                )

    def _check_devices(self, balancer: TakenOverBalancer) -> None:
        """Check that the environment's devices can have the load balancer. Raises :class:`TakeOverError`,
        ControllerError.
        """
        if balancer.status != ACTIVE:
            raise TakeOverError(f"{balancer.id} is {balancer.status}, not {ACTIVE}")
        tree = self._database.trees([balancer.id]).trees.get(balancer.id)
        if tree is None:
            raise TakeOverError(f"{balancer.id}: Octavia has no such load balancer")
        body = {**loadbalancer_body(tree), "provider": self._environment}
        if self._without_flavor:
            body.pop("flavor_data", None)
        self._check(self._environment, body)

    # -- steps

    def _silence_amphorae(self, balancer: TakenOverBalancer) -> None:
        self._database.set_busy(tuple(balancer.amphorae), True)
        gone = _canonical_addresses(balancer.addresses)
        for port in balancer.amphorae.values():
            pairs = self._ports.pairs(port) or []
            kept = [pair for pair in pairs if _pair_address(pair) not in gone]
            if kept != pairs:
                self._ports.set_pairs(port, kept)

    def _allow_addresses(self, port: str, addresses: Iterable[str]) -> None:
        pairs = self._ports.pairs(port) or []
        there = {_pair_address(pair) for pair in pairs}
        more = [{"ip_address": address} for address in addresses if str(ip_address(address)) not in there]
        if more:
            self._ports.set_pairs(port, [*pairs, *more])

    def _wait_until_active(self, id: str) -> None:
        """Wait until the provider agent has reported the load balancer as ACTIVE. Raises :class:`TakeOverError`."""

        def is_active() -> bool:
            now = self._get_balancer(id)
            if now.status == ERROR:
                raise TakeOverError("the devices refuse it; the provider agent's log has the reason")
            return now.provider == self._provider and now.status not in PENDING_STATUSES

        if not self._wait_until(is_active, self._timeout_seconds):
            raise TakeOverError(f"it is not {ACTIVE} within {self._timeout_seconds:g} s; does the provider agent run?")

    def _remove_from_devices(self, id: str) -> None:
        """Remove the load balancer from the devices, and wait until they have removed it. Raises
        :class:`TakeOverError`, ControllerError.
        """
        # Also if they do not have it: what an agent read before the provider was changed is older than this delete.
        newest = max(self._database.trees([id]).seconds, self._mirror.snapshot_of(id) or 0.0)
        self._mirror.delete(id, self._environment, newest)

        def is_gone() -> bool:
            now = self._mirror.statuses([id]).get(id)
            return now is None or now.is_deleted(id)

        if not self._wait_until(is_gone, self._gone_seconds):
            raise TakeOverError(
                f"{id}: our devices have not lost it within {self._gone_seconds:g} s, so that its amphorae stay"
                " silent: repeat this with --back"
            )

    def _wait_until(self, is_so: Callable[[], bool], seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() >= until:
                return False
            time.sleep(LOOK_SECONDS)
        return True


def _pair_address(pair: Mapping[str, Any]) -> str:
    """Return the address of an allowed address pair in canonical form; a network unchanged."""
    text = str(pair.get("ip_address"))
    try:
        return str(ip_address(text))
    except ValueError:
        return text


def _canonical_addresses(addresses: Iterable[str]) -> frozenset[str]:
    return frozenset(str(ip_address(each)) for each in addresses)
