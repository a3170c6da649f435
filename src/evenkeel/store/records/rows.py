"""Values to rows and back: the one place that knows both.

Rows are read as tuples in the order of each kind's ``columns`` and built into values by position; values become
dictionaries of column values. Nothing here runs SQL.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Column, Table

from evenkeel.core.control import Agent, Environment, Event, Shard
from evenkeel.core.messages import CapacityFigure, DeviceState, ShardEpoch
from evenkeel.core.model import (
    DATAGRAM_PROTOCOLS,
    AlpnProtocol,
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    Resource,
    SessionPersistence,
    Subnet,
    TlsVersion,
    Vip,
)
from evenkeel.core.statuses import FailbackMode, OperatingStatus, ProvisioningStatus
from evenkeel.store.records import schema

Columns = tuple[Column[Any], ...]

_PROVISIONING = {status.value: status for status in ProvisioningStatus}
_OPERATING = {status.value: status for status in OperatingStatus}
_texts = msgspec.json.Decoder(tuple[str, ...])
_text_map = msgspec.json.Decoder(dict[str, str])
_versions = msgspec.json.Decoder(tuple[TlsVersion, ...])
_alpn = msgspec.json.Decoder(tuple[AlpnProtocol, ...])
_persistence = msgspec.json.Decoder(SessionPersistence)
_devices = msgspec.json.Decoder(tuple[DeviceState, ...])
_vips = msgspec.json.Decoder(tuple[Vip, ...])
_serving = msgspec.json.Decoder(tuple[ShardEpoch, ...])
_capacity = msgspec.json.Decoder(dict[str, CapacityFigure])

_TLS_LISTS = ("sni_container_refs", "tls_versions", "alpn_protocols")
_LISTS = frozenset({"tags", "allowed_cidrs", "additional_vips", "vip_sg_ids", *_TLS_LISTS})
JSON_FIELDS = _LISTS | {"insert_headers", "session_persistence"}
"""Attributes kept as JSON text: no order by them."""
TEXT_LISTS = _LISTS - {"tags", "additional_vips"}
"""Those of them that can be filtered by what is in them; tags have filters of their own."""


def _columns(table: Table, names: str) -> Columns:
    return tuple(table.c[name] for name in names.split())


_COMMON = (
    "id project_id name admin_state_up tags provisioning_status operating_status revision deleted created_at updated_at"
)
_COMMONS = len(_COMMON.split())
LOAD_BALANCER_COLUMNS = _columns(
    schema.load_balancer,
    _COMMON + " description provider vip_address vip_subnet_id vip_network_id vip_port_id applied_revision"
    " status_reason operating_reason shard_id flavor_id availability_zone zone_group_number root_pool_id"
    " vip_leaving_revision additional_vips vip_qos_policy_id vip_sg_ids vip_vnic_type change_id",
)
LISTENER_COLUMNS = _columns(
    schema.listener,
    _COMMON + " load_balancer_id description protocol protocol_port connection_limit default_pool_id insert_headers"
    " timeout_client_data timeout_member_connect timeout_member_data timeout_tcp_inspect allowed_cidrs"
    " default_tls_container_ref sni_container_refs client_ca_tls_container_ref client_authentication"
    " client_crl_container_ref tls_ciphers tls_versions alpn_protocols hsts_max_age hsts_include_subdomains"
    " hsts_preload",
)
POOL_COLUMNS = _columns(
    schema.pool,
    _COMMON + " load_balancer_id description protocol lb_algorithm session_persistence subnet_id tls_enabled"
    " tls_container_ref ca_tls_container_ref crl_container_ref tls_ciphers tls_versions alpn_protocols",
)
MEMBER_COLUMNS = _columns(
    schema.member,
    _COMMON + " load_balancer_id pool_id address protocol_port weight backup subnet_id monitor_address monitor_port"
    " vnic_type",
)
HEALTH_MONITOR_COLUMNS = _columns(
    schema.health_monitor,
    _COMMON + " load_balancer_id pool_id type delay timeout max_retries max_retries_down http_method url_path"
    " expected_codes http_version domain_name shared_monitor_id",
)
L7POLICY_COLUMNS = _columns(
    schema.l7policy,
    _COMMON + " load_balancer_id description listener_id action position redirect_pool_id redirect_url redirect_prefix"
    " redirect_http_code",
)
L7RULE_COLUMNS = _columns(
    schema.l7rule,
    _COMMON.replace(" name ", " ") + " load_balancer_id l7policy_id type compare_type key value invert",
)


def load_balancer_of(
    row: Sequence[Any], listener_ids: Iterable[str] = (), pool_ids: Iterable[str] = ()
) -> LoadBalancer:
    """The load balancer of a row of ``LOAD_BALANCER_COLUMNS``."""
    (  # at once: lists have many of them, and each slice is a copy
        id_, project, name, up, tags, provisioning, operating, revision, deleted, created, updated,
        description, provider, address, subnet, network, port, applied, reason,
        operating_reason, shard, flavor, zone, zone_group, root_pool, leaving,
        more_vips, qos_policy, security_groups, vnic_type, change_id,
    ) = row  # fmt: skip
    return LoadBalancer(
        id=id_,
        project_id=project,
        name=name,
        admin_state_up=up,
        tags=_text_list(tags),
        provisioning_status=_PROVISIONING[provisioning],
        operating_status=_OPERATING[operating],
        revision=revision,
        deleted=deleted,
        created_at=created,
        updated_at=updated,
        description=description,
        provider=provider,
        vip=vip_of(address, subnet, network, port),
        applied_revision=applied,
        status_reason=reason,
        operating_reason=operating_reason,
        shard_id=shard,
        flavor_id=flavor,
        availability_zone=zone,
        zone_group_number=zone_group,
        root_pool_id=root_pool,
        vip_leaving_revision=leaving,
        additional_vips=vips_of(more_vips),
        vip_qos_policy_id=qos_policy,
        vip_sg_ids=_text_list(security_groups),
        vip_vnic_type=vnic_type,
        change_id=change_id,
        listener_ids=tuple(listener_ids),
        pool_ids=tuple(pool_ids),
    )


NO_NETWORK = ""


def vip_of(address: str, subnet_id: str, network_id: str, port_id: str) -> Vip | None:
    """The VIP that columns say; see :func:`vip_columns`."""
    if network_id == NO_NETWORK:
        return None
    return Vip(address=address, subnet_id=subnet_id, network_id=network_id, port_id=port_id)


def vips_of(text: str) -> tuple[Vip, ...]:
    """The additional VIPs that a column says."""
    return () if text == "[]" else _vips.decode(text)


def vip_columns(load_balancer_id: str, vip: Vip | None) -> dict[str, str]:
    """No VIP is an address of no network that nobody else has, as (network, address) is unique."""
    vip = vip or Vip(address=load_balancer_id, subnet_id="", network_id=NO_NETWORK, port_id="")
    return {
        "vip_address": vip.address,
        "vip_subnet_id": vip.subnet_id,
        "vip_network_id": vip.network_id,
        "vip_port_id": vip.port_id,
    }


def listener_of(row: Sequence[Any], l7policy_ids: Iterable[str] = ()) -> Listener:
    """The listener of a row of ``LISTENER_COLUMNS``."""
    id_, project, name, up, tags, provisioning, operating, revision, deleted, created, updated = row[:_COMMONS]
    lb, description, protocol, port, limit, pool, headers, client, connect, data, inspect, cidrs, *tls = row[_COMMONS:]
    ref, sni_refs, ca_ref, authentication, crl_ref, ciphers, versions, alpn, max_age, subdomains, preload = tls
    return Listener(
        id=id_,
        project_id=project,
        name=name,
        admin_state_up=up,
        tags=_text_list(tags),
        provisioning_status=_PROVISIONING[provisioning],
        operating_status=_OPERATING[operating],
        revision=revision,
        deleted=deleted,
        created_at=created,
        updated_at=updated,
        load_balancer_id=lb,
        description=description,
        protocol=protocol,
        protocol_port=port,
        connection_limit=limit,
        default_pool_id=pool,
        insert_headers={} if headers == "{}" else _text_map.decode(headers),
        timeout_client_data=client,
        timeout_member_connect=connect,
        timeout_member_data=data,
        timeout_tcp_inspect=inspect,
        allowed_cidrs=_text_list(cidrs),
        default_tls_container_ref=ref,
        sni_container_refs=_text_list(sni_refs),
        client_ca_tls_container_ref=ca_ref,
        client_authentication=authentication,
        client_crl_container_ref=crl_ref,
        tls_ciphers=ciphers,
        tls_versions=_tls_versions(versions),
        alpn_protocols=_alpn_protocols(alpn),
        hsts_max_age=max_age,
        hsts_include_subdomains=subdomains,
        hsts_preload=preload,
        l7policy_ids=tuple(l7policy_ids),
    )


def pool_of(
    row: Sequence[Any],
    listener_ids: Iterable[str] = (),
    member_ids: Iterable[str] = (),
    health_monitor_id: str | None = None,
) -> Pool:
    """The pool of a row of ``POOL_COLUMNS``."""
    id_, project, name, up, tags, provisioning, operating, revision, deleted, created, updated = row[:_COMMONS]
    lb, description, protocol, algorithm, persistence, subnet, tls_enabled, *tls = row[_COMMONS:]
    ref, ca_ref, crl_ref, ciphers, versions, alpn = tls
    return Pool(
        id=id_,
        project_id=project,
        name=name,
        admin_state_up=up,
        tags=_text_list(tags),
        provisioning_status=_PROVISIONING[provisioning],
        operating_status=_OPERATING[operating],
        revision=revision,
        deleted=deleted,
        created_at=created,
        updated_at=updated,
        load_balancer_id=lb,
        description=description,
        protocol=protocol,
        lb_algorithm=algorithm,
        session_persistence=None if persistence is None else _persistence.decode(persistence),
        subnet_id=subnet,
        tls_enabled=tls_enabled,
        tls_container_ref=ref,
        ca_tls_container_ref=ca_ref,
        crl_container_ref=crl_ref,
        tls_ciphers=ciphers,
        tls_versions=_tls_versions(versions),
        alpn_protocols=_alpn_protocols(alpn),
        listener_ids=tuple(listener_ids),
        member_ids=tuple(member_ids),
        health_monitor_id=health_monitor_id,
    )


def member_of(row: Sequence[Any]) -> Member:
    """The member of a row of ``MEMBER_COLUMNS``."""
    id_, project, name, up, tags, provisioning, operating, revision, deleted, created, updated = row[:_COMMONS]
    lb, pool, address, port, weight, backup, subnet, monitor_address, monitor_port, vnic_type = row[_COMMONS:]
    return Member(
        id=id_,
        project_id=project,
        name=name,
        admin_state_up=up,
        tags=_text_list(tags),
        provisioning_status=_PROVISIONING[provisioning],
        operating_status=_OPERATING[operating],
        revision=revision,
        deleted=deleted,
        created_at=created,
        updated_at=updated,
        load_balancer_id=lb,
        pool_id=pool,
        address=address,
        protocol_port=port,
        weight=weight,
        backup=backup,
        subnet_id=subnet,
        monitor_address=monitor_address,
        monitor_port=monitor_port,
        vnic_type=vnic_type,
    )


def health_monitor_of(row: Sequence[Any]) -> HealthMonitor:
    """The health monitor of a row of ``HEALTH_MONITOR_COLUMNS``."""
    id_, project, name, up, tags, provisioning, operating, revision, deleted, created, updated = row[:_COMMONS]
    lb, pool, type_, delay, timeout, retries, retries_down, method, path, codes, *rest = row[_COMMONS:]
    version, domain, shared = rest
    return HealthMonitor(
        id=id_,
        project_id=project,
        name=name,
        admin_state_up=up,
        tags=_text_list(tags),
        provisioning_status=_PROVISIONING[provisioning],
        operating_status=_OPERATING[operating],
        revision=revision,
        deleted=deleted,
        created_at=created,
        updated_at=updated,
        load_balancer_id=lb,
        pool_id=pool,
        type=type_,
        delay=delay,
        timeout=timeout,
        max_retries=retries,
        max_retries_down=retries_down,
        http_method=method,
        url_path=path,
        expected_codes=codes,
        http_version=version,
        domain_name=domain,
        shared_monitor_id=shared,
    )


def l7policy_of(row: Sequence[Any], rule_ids: Iterable[str] = ()) -> L7Policy:
    """The L7 policy of a row of ``L7POLICY_COLUMNS``."""
    id_, project, name, up, tags, provisioning, operating, revision, deleted, created, updated = row[:_COMMONS]
    lb, description, listener, action, position, pool, url, prefix, code = row[_COMMONS:]
    return L7Policy(
        id=id_,
        project_id=project,
        name=name,
        admin_state_up=up,
        tags=_text_list(tags),
        provisioning_status=_PROVISIONING[provisioning],
        operating_status=_OPERATING[operating],
        revision=revision,
        deleted=deleted,
        created_at=created,
        updated_at=updated,
        load_balancer_id=lb,
        description=description,
        listener_id=listener,
        action=action,
        position=position,
        redirect_pool_id=pool,
        redirect_url=url,
        redirect_prefix=prefix,
        redirect_http_code=code,
        rule_ids=tuple(rule_ids),
    )


def l7rule_of(row: Sequence[Any]) -> L7Rule:
    """The L7 rule of a row of ``L7RULE_COLUMNS``."""
    id_, project, up, tags, provisioning, operating, revision, deleted, created, updated = row[: _COMMONS - 1]
    lb, policy, type_, compare_type, key, value, invert = row[_COMMONS - 1 :]
    return L7Rule(
        id=id_,
        project_id=project,
        admin_state_up=up,
        tags=_text_list(tags),
        provisioning_status=_PROVISIONING[provisioning],
        operating_status=_OPERATING[operating],
        revision=revision,
        deleted=deleted,
        created_at=created,
        updated_at=updated,
        load_balancer_id=lb,
        l7policy_id=policy,
        type=type_,
        compare_type=compare_type,
        key=key,
        value=value,
        invert=invert,
    )


def _text_list(text: str) -> tuple[str, ...]:
    return () if text == "[]" else _texts.decode(text)


def _tls_versions(text: str) -> tuple[TlsVersion, ...]:
    return () if text == "[]" else _versions.decode(text)


def _alpn_protocols(text: str) -> tuple[AlpnProtocol, ...]:
    return () if text == "[]" else _alpn.decode(text)


@dataclass(frozen=True, eq=False)
class Kind:
    """How one class of tenant objects is stored. Compared by identity: there is one per class."""

    title: str
    """Its name in texts for people (Octavia's)."""
    table: Table
    columns: Columns
    build: Callable[..., Any]
    parent: Column[Any] | None = None
    """The id by which the API names the object's parent in paths; None where there is none in them."""
    key: str = "id"
    """What objects are named by, and lists continued after."""
    order: tuple[str, ...] = ("created_at", "id")
    """A total order, the last of every list."""


LOAD_BALANCER = Kind("Load Balancer", schema.load_balancer, LOAD_BALANCER_COLUMNS, load_balancer_of)
LISTENER = Kind("Listener", schema.listener, LISTENER_COLUMNS, listener_of)
POOL = Kind("Pool", schema.pool, POOL_COLUMNS, pool_of)
MEMBER = Kind("Member", schema.member, MEMBER_COLUMNS, member_of, schema.member.c.pool_id)
HEALTH_MONITOR = Kind("Health Monitor", schema.health_monitor, HEALTH_MONITOR_COLUMNS, health_monitor_of)
L7POLICY = Kind("L7Policy", schema.l7policy, L7POLICY_COLUMNS, l7policy_of)
L7RULE = Kind("L7Rule", schema.l7rule, L7RULE_COLUMNS, l7rule_of, schema.l7rule.c.l7policy_id)

KINDS: dict[type[Any], Kind] = {
    LoadBalancer: LOAD_BALANCER,
    Listener: LISTENER,
    Pool: POOL,
    Member: MEMBER,
    HealthMonitor: HEALTH_MONITOR,
    L7Policy: L7POLICY,
    L7Rule: L7RULE,
}


_FIELDS: dict[type[Any], tuple[str, ...]] = {
    cls: tuple(name for name in cls.__struct_fields__ if name in kind.table.c) for cls, kind in KINDS.items()
}
"""Attributes that are columns of the same name."""


def columns_of(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attribute values as column values; names are those of the value classes."""
    return {name: _encoded(name, value) for name, value in attributes.items()}


def _encoded(name: str, value: Any) -> Any:
    if name not in JSON_FIELDS:
        return value
    if value is None:
        # session_persistence is the only one of them that may be absent
        return None if name == "session_persistence" else "[]" if name in _LISTS else "{}"
    return msgspec.json.encode(value).decode()


def row_of(value: Resource) -> dict[str, Any]:
    """The whole row of a tenant object."""
    row = {name: _encoded(name, getattr(value, name)) for name in _FIELDS[type(value)]}
    if isinstance(value, LoadBalancer):
        row.update(vip_columns(value.id, value.vip))
    row["provisioning_status"] = value.provisioning_status.value
    row["operating_status"] = value.operating_status.value
    row["live_key"] = live_key_of(value)
    return row


def live_key_of(value: Resource) -> str:
    """What unique constraints tell rows apart by: deleted ones by their ids; of live listeners each protocol that is
    no TCP, because it has port numbers of its own."""
    if value.deleted:
        return value.id
    return value.protocol if isinstance(value, Listener) and value.protocol in DATAGRAM_PROTOCOLS else ""


# -- what operators see

ENVIRONMENT_COLUMNS = _columns(
    schema.environment,
    "name device_driver description created_at failback breaker_share breaker_agents halted_at halted_reason",
)
SHARD_COLUMNS = _columns(
    schema.shard, "id environment group_number project_id home_agent_id acting_agent_id epoch handover_to"
)
SUBNET_COLUMNS = _columns(
    schema.subnet, "id network_id cidr allocation_start allocation_end name gateway_ip project_id reserved"
)
EVENT_COLUMNS = _columns(schema.event, "id at kind text environment agent_id shard_id load_balancer_id")
AGENT_COLUMNS = _columns(
    schema.agent,
    "id environment group_number host device_driver ha_type endpoints admin_state_up forced_down failback_asked"
    " silent_since reachable_devices session_id session_started_at session_expires_at reported_at configurations"
    " devices serving queue_depth capacity_score capacity assignments_revision created_at",
)


def environment_of(row: Sequence[Any]) -> Environment:
    """The environment of a row of ``ENVIRONMENT_COLUMNS``."""
    values: dict[str, Any] = {column.name: value for column, value in zip(ENVIRONMENT_COLUMNS, row, strict=True)}
    return Environment(**values | {"failback": FailbackMode(values["failback"])})


def shard_of(row: Sequence[Any]) -> Shard:
    """The shard of a row of ``SHARD_COLUMNS``."""
    return Shard(**{column.name: value for column, value in zip(SHARD_COLUMNS, row, strict=True)})


def subnet_of(row: Sequence[Any]) -> Subnet:
    """The subnet of a row of ``SUBNET_COLUMNS``."""
    values: dict[str, Any] = {column.name: value for column, value in zip(SUBNET_COLUMNS, row, strict=True)}
    return Subnet(**values | {"reserved": _texts.decode(values["reserved"])})


def subnet_row(subnet: Subnet) -> dict[str, Any]:
    """The column values of a subnet."""
    values: dict[str, Any] = {column.name: getattr(subnet, column.name) for column in SUBNET_COLUMNS}
    return values | {"reserved": msgspec.json.encode(subnet.reserved).decode()}


def event_of(row: Sequence[Any]) -> Event:
    """The event of a row of ``EVENT_COLUMNS``."""
    return Event(**{column.name: value for column, value in zip(EVENT_COLUMNS, row, strict=True)})


def agent_of(row: Sequence[Any], **found: Any) -> Agent:
    """The agent of a row of ``AGENT_COLUMNS`` and what else was found out about it, by attribute."""
    values: dict[str, Any] = {column.name: value for column, value in zip(AGENT_COLUMNS, row, strict=True)}
    values["endpoints"] = _texts.decode(values["endpoints"])
    values["configurations"] = _text_map.decode(values["configurations"])
    values["devices"] = _devices.decode(values["devices"])
    values["serving"] = _serving.decode(values["serving"])
    values["capacity"] = _capacity.decode(values["capacity"])
    return Agent(**values, **found)
