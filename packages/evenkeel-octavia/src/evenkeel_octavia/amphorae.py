"""Octavia's rows of amphorae and their load balancers, and their ports at Neutron, for taking over."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy
from octavia.db import api as database
from octavia.db import models

from evenkeel_octavia.rows import OctaviaRows
from evenkeel_octavia.take_over import TakenOverBalancer, TakeOverError

_SERVING_STATUSES = ("ALLOCATED", "FAILOVER_STOPPED")


class AmphoraRows(OctaviaRows):
    """Reads and writes the rows of Octavia's database that a take-over changes:
    :class:`evenkeel_octavia.take_over.AmphoraDatabase`.
    """

    def balancer(self, id: str) -> TakenOverBalancer | None:
        table, amphora = models.LoadBalancer.__table__, models.Amphora.__table__
        query = sqlalchemy.select(table).where(table.c.id == id, table.c.provisioning_status != "DELETED")
        running = sqlalchemy.select(amphora.c.id, amphora.c.vrrp_port_id).where(
            amphora.c.load_balancer_id == id,
            amphora.c.status.in_(_SERVING_STATUSES),
            amphora.c.vrrp_port_id.is_not(None),
        )
        with database.get_engine().connect() as connection:
            row = connection.execute(query).first()
            if row is None:
                return None
            return TakenOverBalancer(
                id=id,
                name=str(row.name or ""),
                provider=str(row.provider or "amphora"),
                status=str(row.provisioning_status),
                addresses=self._addresses(connection, id),
                amphorae={each.id: each.vrrp_port_id for each in connection.execute(running)},
                has_flavor=row.flavor_id is not None,
            )

    def _addresses(self, connection: Any, id: str) -> tuple[str, ...]:
        found: list[str] = []
        for name in ("Vip", "AdditionalVip"):
            if (model := getattr(models, name, None)) is not None:
                table = model.__table__
                query = sqlalchemy.select(table.c.ip_address).where(table.c.load_balancer_id == id)
                found += [str(address) for address in connection.scalars(query) if address]
        return tuple(found)

    def change_provider(
        self, id: str, before: str, after: str, *, statuses: Collection[str], status: str, without_flavor: bool = False
    ) -> bool:
        table = models.LoadBalancer.__table__
        values: dict[str, Any] = {"provider": after, "provisioning_status": status}
        if without_flavor:
            values["flavor_id"] = None
        statement = (
            sqlalchemy.update(table)
            # Older rows of amphorae have no provider.
            .where(table.c.id == id, sqlalchemy.func.coalesce(table.c.provider, "amphora") == before)
            .where(table.c.provisioning_status.in_(list(statuses)))
            .values(values)
        )
        with database.get_engine().begin() as connection:
            return bool(connection.execute(statement).rowcount)

    def set_busy(self, amphorae: Collection[str], busy: bool) -> None:
        table = models.AmphoraHealth.__table__
        statement = sqlalchemy.update(table).where(table.c.amphora_id.in_(list(amphorae))).values(busy=busy)
        if amphorae:
            with database.get_engine().begin() as connection:
                connection.execute(statement)

    def give_up(self, amphorae: Collection[str]) -> None:
        table = models.Amphora.__table__
        statement = sqlalchemy.update(table).where(table.c.id.in_(list(amphorae))).values(status="ERROR")
        if amphorae:
            with database.get_engine().begin() as connection:
                connection.execute(statement)


class NeutronPorts:
    """Ports at Neutron, with Octavia's own login: :class:`evenkeel_octavia.take_over.AmphoraPorts`."""

    def __init__(self) -> None:
        self._network: Any = None

    def pairs(self, port_id: str) -> list[Mapping[str, Any]] | None:
        port = self._call_neutron("get_port", port_id)
        if port.is_port_security_enabled is False:
            return None
        return [dict(pair) for pair in port.allowed_address_pairs or ()]

    def set_pairs(self, port_id: str, pairs: Sequence[Mapping[str, Any]]) -> None:
        self._call_neutron("update_port", port_id, allowed_address_pairs=[dict(pair) for pair in pairs])

    def _call_neutron(self, name: str, port_id: str, **values: Any) -> Any:
        try:
            if self._network is None:
                from octavia.common import clients

                self._network = clients.NeutronAuth.get_neutron_client().network
            return getattr(self._network, name)(port_id, **values)
        except Exception as error:
            # keystoneauth1 and openstacksdk have dozens of unrelated exceptions, whose texts name no password
            raise TakeOverError(f"Neutron: port {port_id}: {type(error).__name__}: {error}") from error
