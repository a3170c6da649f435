"""Reads load balancers of our providers from Octavia's database, by Octavia's own models and ``[database]`` options.

A number of load balancers is read with a constant number of queries in one transaction. Columns are taken as the
models of the installed Octavia have them (17 to 19), and what a version does not have is not read. Nothing is written.
"""

import dataclasses
import datetime
import json
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import sqlalchemy
from octavia.db import api as database
from octavia.db import base_models, models

from evenkeel_octavia.trees import PENDING_STATUSES, DatabaseRow, LoadBalancerTree, OctaviaSnapshot

MAX_PENDING = 10_000
"""Maximum number of pending load balancers that are read at once; the oldest come first."""


class OctaviaRows:
    """Reads load balancers from Octavia's database; connects at the first read, so never before a fork."""

    def pending(self, providers: Collection[str]) -> dict[str, str]:
        """Return ``{id: provisioning status}`` of the PENDING load balancers of these providers, the least
        recently updated first, at most :data:`MAX_PENDING`.
        """
        table = models.LoadBalancer.__table__
        query = (
            sqlalchemy.select(table.c.id, table.c.provisioning_status)
            .where(table.c.provider.in_(providers), table.c.provisioning_status.in_(sorted(PENDING_STATUSES)))
            .order_by(table.c.updated_at, table.c.id)
            .limit(MAX_PENDING)
        )
        with database.get_engine().connect() as connection:
            return {row.id: row.provisioning_status for row in connection.execute(query)}

    def trees(self, ids: Collection[str]) -> OctaviaSnapshot:
        """Read load balancers with all their objects in one transaction; ids without a row are left out. The
        time of an empty result is 0.
        """
        if not ids:
            return OctaviaSnapshot(seconds=0.0, trees={})
        return self._read_snapshot(models.LoadBalancer.__table__.c.id.in_(list(ids)), None)

    def page(self, providers: Collection[str], marker: str, limit: int) -> OctaviaSnapshot:
        """Read up to ``limit`` load balancers of these providers after the id ``marker``, sorted by id,
        without DELETED ones. The time of an empty result is 0.
        """
        table = models.LoadBalancer.__table__
        chosen = sqlalchemy.and_(
            table.c.provider.in_(list(providers)), table.c.id > marker, table.c.provisioning_status != "DELETED"
        )
        return self._read_snapshot(chosen, limit)

    def known_statuses(self, providers: Collection[str]) -> tuple[float, Mapping[str, str]]:
        """Return the database's time in seconds since 1970, and ``{id: provisioning status}`` of all load
        balancers of these providers. DELETED ones are included until Octavia's housekeeping removes their
        rows.
        """
        table = models.LoadBalancer.__table__
        query = sqlalchemy.select(table.c.id, table.c.provisioning_status).where(table.c.provider.in_(list(providers)))
        with database.get_engine().connect() as connection:
            now = _unix_seconds(connection.execute(sqlalchemy.select(_database_time(connection))).scalar())
            return now, {row.id: row.provisioning_status for row in connection.execute(query)}

    def _read_snapshot(self, chosen: Any, limit: int | None) -> OctaviaSnapshot:
        with _read_transaction() as connection:
            table = models.LoadBalancer.__table__
            # the time comes with the first rows: this statement is the one that makes the transaction's snapshot
            query = (
                sqlalchemy.select(_database_time(connection).label("snapshot_time"), table)
                .where(chosen)
                .order_by(table.c.id)
            )
            found = connection.execute(query if limit is None else query.limit(limit)).mappings().all()
            if not found:
                return OctaviaSnapshot(seconds=0.0, trees={})
            parts = _LoadBalancerRows(connection, [row["id"] for row in found])
            trees = {row["id"]: parts.tree(row) for row in found}
            return OctaviaSnapshot(seconds=_unix_seconds(found[0]["snapshot_time"]), trees=trees)


def _database_time(connection: Any) -> Any:
    """Return the SQL expression for the database's time in UTC, with microseconds; in databases other than
    MySQL and MariaDB this process's time.
    """
    if connection.dialect.name in ("mysql", "mariadb"):
        return sqlalchemy.func.utc_timestamp(sqlalchemy.text("6"))
    return sqlalchemy.literal(time.time())


def _unix_seconds(value: Any) -> float:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.UTC).timestamp()
    return float(value)


@contextmanager
def _read_transaction() -> Iterator[Any]:
    """Open a transaction in which all reads see the same rows (REPEATABLE READ, the default of MySQL and MariaDB)."""
    with database.get_engine().connect() as connection, connection.begin():
        yield connection


class _LoadBalancerRows:
    """Rows of all objects that belong to some load balancers, by load balancer."""

    def __init__(self, connection: Any, ids: list[str]) -> None:
        self._connection = connection
        load_balancers = [*ids]
        self._vips = {
            row["load_balancer_id"]: row for row in self._read_rows(models.Vip, "load_balancer_id", load_balancers)
        }
        self._additional = self._read_rows_if_table("AdditionalVip", load_balancers)
        self._security_groups = self._read_rows_if_table("VipSecurityGroup", load_balancers)
        self._listeners = self._read_rows_by(models.Listener, "load_balancer_id", load_balancers)
        self._pools = self._read_rows_by(models.Pool, "load_balancer_id", load_balancers)
        listeners = _row_ids(self._listeners)
        pools = _row_ids(self._pools)
        self._snis = self._read_rows_by(models.SNI, "listener_id", listeners)
        self._cidrs = self._read_rows_by(models.ListenerCidr, "listener_id", listeners)
        self._policies = self._read_rows_by(models.L7Policy, "listener_id", listeners)
        self._rules = self._read_rows_by(models.L7Rule, "l7policy_id", _row_ids(self._policies))
        self._members = self._read_rows_by(models.Member, "pool_id", pools)
        self._monitors = self._read_rows_by(models.HealthMonitor, "pool_id", pools)
        self._persistences = self._read_rows_by(models.SessionPersistence, "pool_id", pools)
        parts = (self._policies, self._rules, self._members, self._monitors)
        objects = [*load_balancers, *listeners, *pools, *(id for part in parts for id in _row_ids(part))]
        self._tags = self._read_rows_by(base_models.Tags, "resource_id", objects)
        self._flavors = self._flavor_metadata()
        self._zones = self._zone_metadata()

    def tree(self, row: DatabaseRow) -> LoadBalancerTree:
        """Build the tree of one load balancer from its row and the rows of its objects."""
        id = row["id"]
        listeners, pools = self._listeners.get(id, []), self._pools.get(id, [])
        policies = _rows_below(listeners, self._policies)
        tree = LoadBalancerTree(
            loadbalancer={name: value for name, value in row.items() if name != "snapshot_time"},
            vip=self._vips.get(id),
            additional_vips=tuple(sorted(self._additional.get(id, ()), key=lambda vip: str(vip["subnet_id"]))),
            security_groups=tuple(sorted(each["sg_id"] for each in self._security_groups.get(id, ()))),
            flavor=self._flavors.get(row["flavor_id"]),
            zone=self._zones.get(row["availability_zone"]),
            listeners=tuple(listeners),
            sni_refs={each["id"]: self._sni_refs(each["id"]) for each in listeners if each["id"] in self._snis},
            cidrs={
                each["id"]: tuple(sorted(cidr["cidr"] for cidr in self._cidrs[each["id"]]))
                for each in listeners
                if each["id"] in self._cidrs
            },
            pools=tuple(pools),
            persistences={
                each["id"]: self._persistences[each["id"]][0] for each in pools if each["id"] in self._persistences
            },
            healthmonitors=tuple(_rows_below(pools, self._monitors)),
            members=tuple(_rows_below(pools, self._members)),
            l7policies=tuple(policies),
            l7rules=tuple(_rows_below(policies, self._rules)),
        )
        ids = [each["id"] for _, each in tree.objects()]
        tags = {each: tuple(sorted(tag["tag"] for tag in self._tags[each])) for each in ids if each in self._tags}
        return dataclasses.replace(tree, tags=tags)

    def _sni_refs(self, listener: str) -> tuple[str, ...]:
        ordered = sorted(self._snis[listener], key=lambda sni: (sni["position"] or 0, sni["tls_container_id"]))
        return tuple(sni["tls_container_id"] for sni in ordered)

    def _read_rows(self, model: Any, column: str, keys: Collection[str]) -> list[DatabaseRow]:
        """Read the rows whose ``column`` is one of ``keys``, sorted by id if the table has one."""
        if not keys:
            return []
        table = model.__table__
        query = sqlalchemy.select(table).where(table.c[column].in_(list(keys)))
        if "id" in table.c:
            query = query.order_by(table.c.id)
        return [dict(row) for row in self._connection.execute(query).mappings()]

    def _read_rows_by(self, model: Any, column: str, keys: Collection[str]) -> Mapping[str, list[DatabaseRow]]:
        grouped = defaultdict(list)
        for row in self._read_rows(model, column, keys):
            grouped[row[column]].append(row)
        return dict(grouped)

    def _read_rows_if_table(self, model: str, load_balancers: Collection[str]) -> Mapping[str, list[DatabaseRow]]:
        """Read the rows of these load balancers from a table that some versions of Octavia lack; empty without the
        table.
        """
        found = getattr(models, model, None)
        return {} if found is None else self._read_rows_by(found, "load_balancer_id", load_balancers)

    def _flavor_metadata(self) -> Mapping[str, Mapping[str, Any]]:
        flavor, profile = models.Flavor.__table__, models.FlavorProfile.__table__
        joined = flavor.join(profile, flavor.c.flavor_profile_id == profile.c.id)
        query = sqlalchemy.select(flavor.c.id, profile.c.flavor_data).select_from(joined)
        return {row[0]: _parse_json(row[1]) for row in self._connection.execute(query)}

    def _zone_metadata(self) -> Mapping[str, Mapping[str, Any]]:
        zone, profile = models.AvailabilityZone.__table__, models.AvailabilityZoneProfile.__table__
        joined = zone.join(profile, zone.c.availability_zone_profile_id == profile.c.id)
        query = sqlalchemy.select(zone.c.name, profile.c.availability_zone_data).select_from(joined)
        return {row[0]: _parse_json(row[1]) for row in self._connection.execute(query)}


def _parse_json(text: str | None) -> Mapping[str, Any]:
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _row_ids(grouped: Mapping[str, Iterable[DatabaseRow]]) -> list[str]:
    return [row["id"] for rows in grouped.values() for row in rows]


def _rows_below(parents: Iterable[DatabaseRow], grouped: Mapping[str, list[DatabaseRow]]) -> list[DatabaseRow]:
    return [row for parent in parents for row in grouped.get(parent["id"], ())]
