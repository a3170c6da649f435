"""Load balancers in the form of our import API, made of the objects that a stock Octavia's API shows. Pure.

Our import API takes Octavia's names and values, so most attributes are copied; nulls are left out, which
means the default on both sides.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from evenkeel.cli.moving_in.foreign import OBJECT_KINDS, ForeignLoadBalancer, LostAttribute, has_effect
from evenkeel.cli.moving_in.octavia.source import Row, SourceObjects, referenced_ids

LOAD_BALANCER, LISTENER, POOL, MEMBER, MONITOR, POLICY, RULE = OBJECT_KINDS

_COPIED_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    LOAD_BALANCER: (
        *("name", "description", "admin_state_up", "tags", "vip_address", "vip_subnet_id", "vip_network_id"),
        *("vip_port_id", "vip_qos_policy_id", "vip_sg_ids"),
    ),
    LISTENER: (
        *("name", "description", "admin_state_up", "tags", "protocol", "protocol_port", "connection_limit"),
        *("default_pool_id", "insert_headers", "allowed_cidrs", "timeout_client_data", "timeout_member_connect"),
        *("timeout_member_data", "timeout_tcp_inspect", "default_tls_container_ref", "sni_container_refs"),
        *("client_ca_tls_container_ref", "client_authentication", "client_crl_container_ref", "tls_ciphers"),
        *("tls_versions", "alpn_protocols", "hsts_max_age", "hsts_include_subdomains", "hsts_preload"),
    ),
    POOL: (
        *("name", "description", "admin_state_up", "tags", "protocol", "lb_algorithm", "tls_enabled"),
        *("tls_container_ref", "ca_tls_container_ref", "crl_container_ref", "tls_ciphers", "tls_versions"),
        "alpn_protocols",
    ),
    MEMBER: (
        *("name", "admin_state_up", "tags", "address", "protocol_port", "weight", "backup", "subnet_id"),
        *("monitor_address", "monitor_port"),
    ),
    MONITOR: (
        *("name", "admin_state_up", "tags", "type", "delay", "timeout", "max_retries", "max_retries_down"),
        *("http_method", "url_path", "expected_codes", "http_version", "domain_name"),
    ),
    POLICY: (
        *("name", "description", "admin_state_up", "tags", "action", "position", "redirect_pool_id", "redirect_url"),
        *("redirect_prefix", "redirect_http_code"),
    ),
    RULE: ("admin_state_up", "tags", "type", "compare_type", "key", "value", "invert"),
}
"""Attributes that have the same name and meaning here, by kind."""
_HANDLED_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    LOAD_BALANCER: (
        *("listeners", "pools", "additional_vips", "provider", "flavor_id", "availability_zone"),
        "vip_vnic_type",
    ),
    LISTENER: ("loadbalancers", "l7policies"),
    POOL: ("loadbalancers", "listeners", "members", "healthmonitor_id", "session_persistence"),
    MEMBER: ("vnic_type",),
    MONITOR: ("pools",),
    POLICY: ("listener_id", "rules"),
    RULE: (),
}
"""Attributes that are converted, or show how objects belong together."""
_SOURCE_ONLY_ATTRIBUTES = frozenset(
    {"id", "project_id", "tenant_id", "provisioning_status", "operating_status", "created_at", "updated_at"}
)
_PENDING_PREFIX = "PENDING_"
_DELETED_STATUS = "DELETED"
_DIRECT_VNIC_TYPE = "direct"
IN_ERROR_REMARK = "it is ERROR at the source, whose amphorae may serve something else"
"""Remark about a load balancer that is imported as its tenant configured it."""


class EntryReplacement(NamedTuple):
    """Even Keel's replacement for a flavor or an availability zone of the source."""

    ours: str | None = None
    """Id of our flavor, or name of our zone, in place of the source's; None: there is no replacement."""
    reason: str = ""
    """Why there is no replacement."""


FindReplacement = Callable[[str], EntryReplacement]


class CatalogueReplacements(NamedTuple):
    """Functions that return Even Keel's replacements for the source's flavors, by id, and availability zones,
    by name.
    """

    flavor: FindReplacement
    availability_zone: FindReplacement


def convert_load_balancers(found: SourceObjects, choices: CatalogueReplacements) -> list[ForeignLoadBalancer]:
    """Convert all load balancers, ordered by project and id.

    One that is being changed, or that the source shows incompletely, has the reason in
    :attr:`ForeignLoadBalancer.not_importable_reason`, and an empty body.
    """
    maker = _LoadBalancerConverter(found, choices)
    rows = sorted(found.load_balancers, key=lambda row: (str(row.get("project_id")), str(row["id"])))
    return [maker.load_balancer(row) for row in rows]


class _ConvertedObject(NamedTuple):
    body: dict[str, Any]
    lost: list[LostAttribute]


class _CannotImport(Exception):
    """Raised with the reason why a load balancer cannot be imported now."""


class _LoadBalancerConverter:
    """Makes the trees of load balancers for Even Keel's import API from the source's objects, and collects
    attributes that cannot be carried over.
    """

    def __init__(self, found: SourceObjects, choices: CatalogueReplacements) -> None:
        self._found = found
        self._choices = choices

    def load_balancer(self, row: Row) -> ForeignLoadBalancer:
        made = ForeignLoadBalancer(
            id=str(row["id"]),
            name=str(row.get("name") or ""),
            project_id=str(row.get("project_id") or ""),
            provider=str(row.get("provider") or ""),
            body={},
        )
        try:
            part = self._make_root(row)
        except _CannotImport as error:
            return made._replace(not_importable_reason=str(error))
        remarks = (IN_ERROR_REMARK,) if row.get("provisioning_status") == "ERROR" else ()
        return made._replace(body=part.body, lost=tuple(part.lost), remarks=remarks)

    def _make_root(self, row: Row) -> _ConvertedObject:
        if row["id"] in self._found.moving:
            raise _CannotImport("it was changed while it was read: repeat the import")
        _refuse_pending_or_deleted(LOAD_BALANCER, row)
        for name in ("project_id", "vip_address", "vip_subnet_id"):
            if not row.get(name):
                raise _CannotImport(f"the source shows no {name} of it")
        listeners = [
            self._make_listener(each)
            for each in self._children_by_ids(row, "listeners", LISTENER, self._found.listeners)
        ]
        pools = [self._make_pool(each) for each in self._children_by_ids(row, "pools", POOL, self._found.pools)]
        part = _copied_attributes(LOAD_BALANCER, row)
        del part.body["id"]
        self._choose_catalogue_entries(row, part)
        part.body.update(
            project_id=row["project_id"],
            additional_vips=[
                _selected_attributes(each, ("subnet_id", "ip_address")) for each in row.get("additional_vips") or ()
            ],
            listeners=[each.body for each in listeners],
            pools=[each.body for each in pools],
        )
        return _ConvertedObject(part.body, [*part.lost, *(lost for each in (*listeners, *pools) for lost in each.lost)])

    def _choose_catalogue_entries(self, row: Row, part: _ConvertedObject) -> None:
        """Set Even Keel's flavor and availability zone in ``part`` in place of the source's; without a
        replacement the attribute is added to ``part.lost``.
        """
        for name, choose in (
            ("flavor_id", self._choices.flavor),
            ("availability_zone", self._choices.availability_zone),
        ):
            if value := row.get(name):
                choice = choose(str(value))
                if choice.ours is None:
                    part.lost.append(LostAttribute(LOAD_BALANCER, str(row["id"]), name, value, choice.reason))
                else:
                    part.body[name] = choice.ours
        if row.get("vip_vnic_type") == _DIRECT_VNIC_TYPE and "flavor_id" not in part.body:
            reason = "a flavor with sriov_vip decides it: --flavor"
            part.lost.append(LostAttribute(LOAD_BALANCER, str(row["id"]), "vip_vnic_type", _DIRECT_VNIC_TYPE, reason))

    def _children_by_ids(self, parent: Row, attribute: str, kind: str, rows: Mapping[str, Row]) -> Iterator[Row]:
        """Yield the objects of ``rows`` whose ids the parent lists in ``attribute``. Raises :class:`_CannotImport`
        if ``rows`` lacks one.
        """
        for id_ in referenced_ids(parent.get(attribute)):
            yield _required_row(kind, id_, rows)

    def _make_listener(self, row: Row) -> _ConvertedObject:
        _refuse_pending_or_deleted(LISTENER, row)
        part = _copied_attributes(LISTENER, row)
        policies = sorted(
            self._children_by_ids(row, "l7policies", POLICY, self._found.l7policies),
            key=lambda each: (each.get("position") or 0, str(each["id"])),
        )
        made = [self._make_policy(each) for each in policies]
        part.body["l7policies"] = [each.body for each in made]
        return _ConvertedObject(part.body, [*part.lost, *(lost for each in made for lost in each.lost)])

    def _make_policy(self, row: Row) -> _ConvertedObject:
        _refuse_pending_or_deleted(POLICY, row)
        part = _copied_attributes(POLICY, row)
        rules = [_convert_object(RULE, each) for each in _listed_children(POLICY, row, "rules", self._found.rules)]
        part.body["rules"] = [each.body for each in rules]
        return _ConvertedObject(part.body, [*part.lost, *(lost for each in rules for lost in each.lost)])

    def _make_pool(self, row: Row) -> _ConvertedObject:
        _refuse_pending_or_deleted(POOL, row)
        part = _copied_attributes(POOL, row)
        members = [_make_member(each) for each in _listed_children(POOL, row, "members", self._found.members)]
        part.body["members"] = [each.body for each in members]
        lost = [*part.lost, *(lost for each in members for lost in each.lost)]
        if persistence := row.get("session_persistence"):
            part.body["session_persistence"] = _selected_attributes(persistence, persistence)
        if monitor_id := row.get("healthmonitor_id"):
            monitor = _convert_object(MONITOR, _required_row(MONITOR, str(monitor_id), self._found.health_monitors))
            part.body["healthmonitor"] = monitor.body
            lost += monitor.lost
        return _ConvertedObject(part.body, lost)


def _required_row(kind: str, id_: str, rows: Mapping[str, Row]) -> Row:
    if id_ not in rows:
        raise _CannotImport(
            f"the source does not show {kind} {id_} of it: it was changed meanwhile, or you may not see it"
        )
    return rows[id_]


def _listed_children(kind: str, parent: Row, attribute: str, rows: Mapping[str, Iterable[Row]]) -> list[Row]:
    """Return the parent's children from ``rows``, ``{parent's id: children}``. Raises :class:`_CannotImport`
    if they are not exactly the objects to which the parent refers in ``attribute``: then they were changed
    while the source was read.
    """
    found = list(rows.get(str(parent["id"]), ()))
    if sorted(str(each["id"]) for each in found) != sorted(referenced_ids(parent.get(attribute))):
        raise _CannotImport(f"{attribute} of {kind} {parent['id']} were changed while it was read: repeat the import")
    return found


def _refuse_pending_or_deleted(kind: str, row: Row) -> None:
    """Raise :class:`_CannotImport` if the source is changing or deleting the object, or has deleted it."""
    status = str(row.get("provisioning_status") or "")
    if status.startswith(_PENDING_PREFIX):
        raise _CannotImport(
            f"{kind} {row['id']} is being changed at the source ({status}): repeat the import afterwards"
        )
    if status == _DELETED_STATUS:
        raise _CannotImport(f"{kind} {row['id']} is deleted at the source")


def _convert_object(kind: str, row: Row) -> _ConvertedObject:
    _refuse_pending_or_deleted(kind, row)
    return _copied_attributes(kind, row)


def _make_member(row: Row) -> _ConvertedObject:
    part = _convert_object(MEMBER, row)
    if row.get("vnic_type") == _DIRECT_VNIC_TYPE:
        part.body["request_sriov"] = True
    return part


def _selected_attributes(value: Any, names: Iterable[str]) -> Any:
    """Return the attributes ``names`` of a nested object, without nulls; any other value unchanged, for the
    import API to refuse.
    """
    if not isinstance(value, Mapping):
        return value
    return {name: value[name] for name in names if value.get(name) is not None}


def _copied_attributes(kind: str, row: Row) -> _ConvertedObject:
    """Return the attributes that have the same meaning at Even Keel, without nulls, and as ``lost`` the other
    attributes that have an effect.
    """
    body = {name: row[name] for name in ("id", *_COPIED_ATTRIBUTES[kind]) if row.get(name) is not None}
    known = {*_COPIED_ATTRIBUTES[kind], *_HANDLED_ATTRIBUTES[kind], *_SOURCE_ONLY_ATTRIBUTES}
    unknown = [name for name in sorted(row.keys() - known) if has_effect(row[name])]
    return _ConvertedObject(body, [LostAttribute(kind, str(row["id"]), name, row[name]) for name in unknown])
