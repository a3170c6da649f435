"""Pure conversion of Octavia's load balancers into bodies of the controllers' mirror API.

Two sources are converted: rows of Octavia's database (:func:`loadbalancer_body`), and objects of octavia-lib that the
driver gets (:func:`object_body`). Attributes that are None are left out: None is the default in both APIs. Objects that
a tenant has deleted (PENDING_DELETE) are left out too, and references to them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evenkeel_octavia.trees import DatabaseRow, LoadBalancerTree

RequestBody = dict[str, Any]
_DELETION_STATUSES = frozenset(("PENDING_DELETE", "DELETED"))

# attribute of the body -> column of Octavia's table, where the names differ; all others have the column's name
_LISTENER_ATTRIBUTES = (
    *("name", "description", "protocol", "protocol_port", "connection_limit", "insert_headers"),
    *("timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"),
    *("client_authentication", "tls_ciphers", "tls_versions", "alpn_protocols"),
    *("hsts_max_age", "hsts_include_subdomains", "hsts_preload"),
)
_LISTENER_RENAMED = {
    "admin_state_up": "enabled",
    "default_tls_container_ref": "tls_certificate_id",
    "client_ca_tls_container_ref": "client_ca_tls_certificate_id",
    "client_crl_container_ref": "client_crl_container_id",
}
_POOL_ATTRIBUTES = (
    *("name", "description", "protocol", "lb_algorithm", "tls_enabled"),
    *("tls_ciphers", "tls_versions", "alpn_protocols"),
)
_POOL_RENAMED = {
    "admin_state_up": "enabled",
    "tls_container_ref": "tls_certificate_id",
    "ca_tls_container_ref": "ca_tls_certificate_id",
    "crl_container_ref": "crl_container_id",
}
_PERSISTENCE_ATTRIBUTES = ("type", "cookie_name", "persistence_timeout", "persistence_granularity")
_MONITOR_ATTRIBUTES = (
    *("name", "type", "delay", "timeout", "http_method", "url_path", "expected_codes", "http_version", "domain_name"),
)
_MONITOR_RENAMED = {
    "admin_state_up": "enabled",
    "max_retries": "rise_threshold",
    "max_retries_down": "fall_threshold",
}
_MEMBER_ATTRIBUTES = ("name", "protocol_port", "weight", "backup", "subnet_id", "monitor_address", "monitor_port")
_MEMBER_RENAMED = {"admin_state_up": "enabled", "address": "ip_address"}
_L7POLICY_ATTRIBUTES = (*("name", "description", "action", "redirect_url", "redirect_prefix", "redirect_http_code"),)
_L7RULE_ATTRIBUTES = ("type", "compare_type", "key", "value", "invert")
_ENABLED_RENAMED = {"admin_state_up": "enabled"}
_ADDITIONAL_VIP_ATTRIBUTES = ("subnet_id", "ip_address")
_VIP_RENAMED = {
    "vip_address": "ip_address",
    "vip_port_id": "port_id",
    "vip_subnet_id": "subnet_id",
    "vip_network_id": "network_id",
    "vip_qos_policy_id": "qos_policy_id",
}


def body_digest(body: Mapping[str, Any]) -> str:
    """Return a digest of a load balancer's body that is equal for equal content, in whatever order
    its attributes are.
    """
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def loadbalancer_body(tree: LoadBalancerTree) -> RequestBody:
    """Build the body of a fully populated create of a load balancer, with an id in every object.

    Pools are listed once, in ``pools``; listeners and L7 policies refer to them by id.
    """
    row = tree.loadbalancer
    pools = [pool for pool in tree.pools if _is_not_deleted(pool)]
    pool_ids = {pool["id"] for pool in pools}
    vip = tree.vip or {}
    body = {
        **_common_attributes(tree, row, ("name", "description", "provider"), _ENABLED_RENAMED),
        **_renamed_attributes(vip, _VIP_RENAMED),
        "additional_vips": [_present_attributes(each, _ADDITIONAL_VIP_ATTRIBUTES) for each in tree.additional_vips],
        "vip_sg_ids": list(tree.security_groups),
        # ids of Octavia's catalogue mean nothing to the controllers
        "flavor_data": None if tree.flavor is None else dict(tree.flavor),
        "availability_zone_data": None if tree.zone is None else dict(tree.zone),
        "listeners": [
            _listener_body(tree, listener, pool_ids) for listener in tree.listeners if _is_not_deleted(listener)
        ],
        "pools": [_pool_body(tree, pool) for pool in pools],
    }
    return {name: value for name, value in body.items() if not _is_absent(value)}


def _listener_body(tree: LoadBalancerTree, row: DatabaseRow, pool_ids: set[str]) -> RequestBody:
    body = _common_attributes(tree, row, _LISTENER_ATTRIBUTES, _LISTENER_RENAMED)
    body["default_pool_id"] = row["default_pool_id"] if row["default_pool_id"] in pool_ids else None
    body["sni_container_refs"] = list(tree.sni_refs.get(row["id"], ()))
    body["allowed_cidrs"] = list(tree.cidrs.get(row["id"], ()))
    mine = [policy for policy in tree.l7policies if policy["listener_id"] == row["id"] and _is_not_deleted(policy)]
    # a policy that is being deleted leaves a gap, which Octavia closes when the row goes
    ordered = sorted(mine, key=lambda policy: (policy["position"], policy["id"]))
    policies = (_l7policy_body(tree, policy, number, pool_ids) for number, policy in enumerate(ordered, 1))
    body["l7policies"] = [policy for policy in policies if policy is not None]
    return {name: value for name, value in body.items() if not _is_absent(value)}


def _l7policy_body(tree: LoadBalancerTree, row: DatabaseRow, position: int, pool_ids: set[str]) -> RequestBody | None:
    """Build the body of an L7 policy; None if the policy's pool is deleted, and the policy therefore without effect."""
    body = _common_attributes(tree, row, _L7POLICY_ATTRIBUTES, _ENABLED_RENAMED)
    pool = row["redirect_pool_id"]
    if pool is not None:
        if pool not in pool_ids:
            return None
        body["redirect_pool_id"] = pool
    body["position"] = position
    rules = [
        _common_attributes(tree, rule, _L7RULE_ATTRIBUTES, _ENABLED_RENAMED)
        for rule in tree.l7rules
        if rule["l7policy_id"] == row["id"] and _is_not_deleted(rule)
    ]
    return body | ({"rules": rules} if rules else {})


def _pool_body(tree: LoadBalancerTree, row: DatabaseRow) -> RequestBody:
    body = _common_attributes(tree, row, _POOL_ATTRIBUTES, _POOL_RENAMED)
    if (persistence := tree.persistences.get(row["id"])) is not None:
        body["session_persistence"] = _present_attributes(persistence, _PERSISTENCE_ATTRIBUTES)
    for monitor in tree.healthmonitors:
        if monitor["pool_id"] == row["id"] and _is_not_deleted(monitor):
            body["healthmonitor"] = _common_attributes(tree, monitor, _MONITOR_ATTRIBUTES, _MONITOR_RENAMED)
    members = [
        _member_body(tree, each) for each in tree.members if each["pool_id"] == row["id"] and _is_not_deleted(each)
    ]
    return body | ({"members": members} if members else {})


def _member_body(tree: LoadBalancerTree, row: DatabaseRow) -> RequestBody:
    body = _common_attributes(tree, row, _MEMBER_ATTRIBUTES, _MEMBER_RENAMED)
    return body | ({"request_sriov": True} if row.get("vnic_type") == "direct" else {})


def _common_attributes(
    tree: LoadBalancerTree, row: DatabaseRow, names: Iterable[str], renamed: Mapping[str, str]
) -> RequestBody:
    """Return id, project, tags and the named attributes of a row."""
    body = {
        "id": row["id"],
        **_present_attributes(row, ("project_id",)),
        **_present_attributes(row, names),
        **_renamed_attributes(row, renamed),
    }
    tags = tree.tags.get(row["id"])
    return body | ({"tags": list(tags)} if tags else {})


def _present_attributes(row: DatabaseRow, names: Iterable[str]) -> RequestBody:
    return {name: row[name] for name in names if not _is_absent(row.get(name))}


def _renamed_attributes(row: DatabaseRow, renamed: Mapping[str, str]) -> RequestBody:
    return {name: row[column] for name, column in renamed.items() if not _is_absent(row.get(column))}


def _is_absent(value: object) -> bool:
    """Whether the value of an attribute is left out of bodies: None, or an empty list or object."""
    return value is None or (isinstance(value, list | tuple | dict) and not value)


def _is_not_deleted(row: DatabaseRow) -> bool:
    return row["provisioning_status"] not in _DELETION_STATUSES


# -- octavia-lib's objects

_SECRET_ATTRIBUTES = frozenset(
    (
        *("default_tls_container_data", "sni_container_data", "client_ca_tls_container_data"),
        *("client_crl_container_data", "tls_container_data", "ca_tls_container_data", "crl_container_data"),
    )
)
"""Attributes with certificates and private keys in clear text. They are not sent: agents read them
by their references.
"""
_ID_ATTRIBUTE_BY_KIND = {
    "loadbalancer": "loadbalancer_id",
    "listener": "listener_id",
    "pool": "pool_id",
    "member": "member_id",
    "healthmonitor": "healthmonitor_id",
    "l7policy": "l7policy_id",
    "l7rule": "l7rule_id",
}
_NOT_COPIED_ATTRIBUTES = frozenset(
    ("loadbalancer_id", "listener_id", "pool_id", "l7policy_id", "flavor", "availability_zone")
)
"""Attributes of octavia-lib's objects that are not copied: ids of the object and of its parents, and attributes that
have another name in the mirror API.
"""
_PARENT_ID_ATTRIBUTES = {
    "listener": ("loadbalancer_id",),
    "pool": ("loadbalancer_id", "listener_id"),
    "member": ("pool_id",),
    "healthmonitor": ("pool_id",),
    "l7policy": ("listener_id",),
    "l7rule": ("l7policy_id",),
}
"""Attributes with the ids of an object's parents, and of objects that use it, by kind of object."""
_CHILD_ATTRIBUTES = {
    "loadbalancer": {"listeners": "listener", "pools": "pool"},
    "listener": {"l7policies": "l7policy"},
    "pool": {"members": "member", "healthmonitor": "healthmonitor"},
    "l7policy": {"rules": "l7rule"},
}


def object_body(kind: str, values: Mapping[str, Any], *, with_children: bool = True) -> RequestBody:
    """Convert an object of octavia-lib, given as its ``to_dict(recurse=True)``, to its part of a load balancer's body,
    without certificates and keys in clear text.
    """
    body = _convert_object(kind, values, with_children=with_children)
    return _flatten_pools(body, values) if kind == "loadbalancer" else body


def vip_port_body(project_id: str, vip: Mapping[str, Any], additional_vips: Iterable[Mapping[str, Any]]) -> RequestBody:
    """Build the request for a VIP's port from the dictionaries that Octavia passes to ``create_vip_port``:
    the VIP's, and those of the additional VIPs.
    """
    body = {"project_id": project_id, **_present_attributes(vip, ("vip_address", "vip_qos_policy_id", "vip_sg_ids"))}
    # Octavia completes a request for a subnet with its network
    body |= _present_attributes(vip, ("vip_subnet_id",)) or _present_attributes(vip, ("vip_network_id",))
    additional = [_present_attributes(each, _ADDITIONAL_VIP_ATTRIBUTES) for each in additional_vips]
    return body | ({"additional_vips": additional} if additional else {})


def complete_vips(vip: Mapping[str, Any], port: Mapping[str, Any]) -> tuple[RequestBody, list[RequestBody]]:
    """Return Octavia's dictionary of the VIP and those of the additional VIPs, completed by the addresses and
    ids of the created port.
    """
    ids = {"port_id": port["port_id"], "network_id": port["network_id"]}
    made = {
        "vip_address": port["ip_address"],
        "vip_subnet_id": port["subnet_id"],
        **{f"vip_{name}": value for name, value in ids.items()},
    }
    return {**vip, **made}, [
        {**_present_attributes(each, _ADDITIONAL_VIP_ATTRIBUTES), **ids} for each in port["additional_vips"]
    ]


def changed_body(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> RequestBody:
    """Convert an object of octavia-lib as it will be after a change, without children. ``new``: only the changed
    attributes.
    """
    return object_body(kind, {**old, **new}, with_children=False)


def parent_ids(kind: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids of the parents of an object of octavia-lib, by which controllers find its load balancer: whether
    an object is valid depends on the load balancer's flavor and VIPs, and on its pool or listener.
    """
    return {name: str(values[name]) for name in _PARENT_ID_ATTRIBUTES.get(kind, ()) if values.get(name)}


def pool_protocol(values: Mapping[str, Any]) -> str | None:
    """Return the protocol of a listener's default pool, if the listener of octavia-lib contains the pool; else None."""
    pool = values.get("default_pool")
    return str(pool["protocol"]) if isinstance(pool, Mapping) and pool.get("protocol") else None


def _convert_object(kind: str, values: Mapping[str, Any], *, with_children: bool) -> RequestBody:
    children = _CHILD_ATTRIBUTES.get(kind, {})
    left_out = {*_SECRET_ATTRIBUTES, *_NOT_COPIED_ATTRIBUTES, *children, _ID_ATTRIBUTE_BY_KIND[kind], "default_pool"}
    body: RequestBody = {
        name: value for name, value in values.items() if name not in left_out and not _is_absent(value)
    }
    if not _is_absent(values.get(_ID_ATTRIBUTE_BY_KIND[kind])):
        body["id"] = values[_ID_ATTRIBUTE_BY_KIND[kind]]
    if kind != "loadbalancer":
        # children belong to the project of their load balancer, which a check of a child does not name
        body.pop("project_id", None)
    if kind == "member" and body.pop("vnic_type", "normal") == "direct":
        body["request_sriov"] = True
    if with_children:
        for name, child in children.items():
            if not _is_absent(values.get(name)):
                body[name] = _convert_children(child, values[name])
    return body


def _convert_children(kind: str, values: Any) -> Any:
    if isinstance(values, Sequence) and not isinstance(values, str):
        return [_convert_object(kind, each, with_children=True) for each in values]
    return _convert_object(kind, values, with_children=True)


def _flatten_pools(body: RequestBody, values: Mapping[str, Any]) -> RequestBody:
    """Return the body of a load balancer with the pools of its listeners moved to ``pools``, and the metadata of flavor
    and availability zone under the mirror API's names.
    """
    pools = {pool["id"]: pool for pool in body.get("pools", ())}
    for listener in values.get("listeners") or ():
        if isinstance(pool := listener.get("default_pool"), Mapping) and pool.get("pool_id") not in pools:
            pools[pool["pool_id"]] = _convert_object("pool", pool, with_children=True)
    more = [_present_attributes(vip, _ADDITIONAL_VIP_ATTRIBUTES) for vip in body.pop("additional_vips", ())]
    found = {
        "pools": list(pools.values()),
        "flavor_data": values.get("flavor"),
        "availability_zone_data": values.get("availability_zone"),
        # an address that Octavia has not allocated yet is not checked
        "additional_vips": [vip for vip in more if len(vip) == len(_ADDITIONAL_VIP_ATTRIBUTES)],
    }
    if not isinstance(found["availability_zone_data"], Mapping):
        del found["availability_zone_data"]
    return body | {name: value for name, value in found.items() if not _is_absent(value)}
