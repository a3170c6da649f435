"""Load balancers of LBaaS v2 (neutron-lbaas, also with F5's extensions) from its JSON documents. Pure.

Documents are answers of its API (``{"loadbalancers": […]}``, ``{"members": […]}``, one object as
``{"listener": {…}}``), or rows of its database by table (``{"lbaas_members": […]}``); several are merged. Objects refer
to each other as the API shows them (a pool lists its members' ids) or as the database has them (a member has its pool's
id).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from evenkeel.cli.moving_in.foreign import (
    OBJECT_KINDS,
    ForeignLoadBalancer,
    InvalidSourceData,
    LostAttribute,
    has_effect,
)

Row = Mapping[str, Any]

LOAD_BALANCERS, LISTENERS, POOLS = "loadbalancers", "listeners", "pools"
MEMBERS, MONITORS, POLICIES, RULES = "members", "healthmonitors", "l7policies", "l7rules"
_PERSISTENCES, _SNI, _PROVIDERS = "lbaas_sessionpersistences", "lbaas_sni", "providerresourceassociations"
_KIND_BY_LIST_NAME: Mapping[str, str] = {
    **{name: name for name in (LOAD_BALANCERS, LISTENERS, POOLS, MEMBERS, MONITORS, POLICIES, RULES)},
    "rules": RULES,
    **{f"lbaas_{name}": name for name in (LOAD_BALANCERS, LISTENERS, POOLS, MEMBERS, MONITORS, POLICIES, RULES)},
    **{name: name for name in (_PERSISTENCES, _SNI, _PROVIDERS)},
}
"""Kind of the objects in a list, by the list's name: in an API response, or the table in the database."""
_KINDS_BY_SINGULAR = {
    "loadbalancer": LOAD_BALANCERS,
    "listener": LISTENERS,
    "pool": POOLS,
    "member": MEMBERS,
    "healthmonitor": MONITORS,
    "l7policy": POLICIES,
    "rule": RULES,
}
_ID_ATTRIBUTE_BY_KIND = {_PERSISTENCES: "pool_id", _PROVIDERS: "resource_id"}
"""Attribute that identifies an object, by its kind; ``id`` for kinds that are not listed."""

_COMMON_ATTRIBUTES = ("name", "description", "admin_state_up")
_COPIED_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    LOAD_BALANCERS: ("vip_address", "vip_subnet_id", "vip_port_id", "vip_network_id"),
    LISTENERS: ("protocol", "protocol_port", "connection_limit", "default_pool_id"),
    POOLS: ("protocol", "lb_algorithm"),
    MEMBERS: ("address", "protocol_port", "weight", "subnet_id"),
    MONITORS: ("type", "delay", "timeout", "max_retries", "max_retries_down"),
    POLICIES: ("action", "position", "redirect_pool_id", "redirect_url"),
    RULES: ("type", "compare_type", "key", "value", "invert"),
}
"""Attributes that have the same name and meaning in Octavia's API."""
_MISSING_ATTRIBUTES: Mapping[str, frozenset[str]] = {
    MEMBERS: frozenset({"description"}),
    MONITORS: frozenset({"description"}),
    RULES: frozenset({"name", "description"}),
}
"""Attributes in :data:`_COMMON_ATTRIBUTES` that objects of a kind do not have in Octavia's API."""
_HTTP_MONITOR_ATTRIBUTES = ("http_method", "url_path", "expected_codes")
_HTTP_MONITOR_TYPES = ("HTTP", "HTTPS")
_HANDLED_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    LOAD_BALANCERS: (LISTENERS, POOLS, "provider"),
    LISTENERS: (
        "loadbalancers",
        "loadbalancer_id",
        "default_tls_container_ref",
        "default_tls_container_id",
        "sni_container_refs",
        "sni_containers",
        "l7policies",
        "l7_policies",
        "default_pool",
        "mutual_authentication_up",
        "ca_container_id",
        "tls_protocols",
        "http2",
    ),
    POOLS: (
        "loadbalancers",
        "loadbalancer_id",
        LISTENERS,
        MEMBERS,
        "session_persistence",
        "healthmonitor_id",
        "healthmonitor",
        "l7_policies",
    ),
    MEMBERS: ("pool_id",),
    MONITORS: (POOLS, *_HTTP_MONITOR_ATTRIBUTES),
    POLICIES: ("listener_id", LISTENERS, "rules", "redirect_pool"),
    RULES: ("l7policy_id", "policy_id", "policies"),
}
"""Attributes that are converted, or show how objects belong together."""
_IGNORED_ATTRIBUTES = frozenset(
    {"id", "tenant_id", "project_id", "provisioning_status", "operating_status", "status", "created_at", "updated_at"}
)
_TITLE_BY_KIND = dict(
    zip((LOAD_BALANCERS, LISTENERS, POOLS, MEMBERS, MONITORS, POLICIES, RULES), OBJECT_KINDS, strict=True)
)
_TLS_VERSIONS = {"TLS1.0": "TLSv1", "TLS1.1": "TLSv1.1", "TLS1.2": "TLSv1.2", "TLS1.3": "TLSv1.3"}


class LbaasDocuments:
    """Objects of LBaaS v2 from JSON documents, by kind and id. Parts of one object in several documents are
    merged.
    """

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, Row]] = {}
        self._lists: dict[str, list[Row]] = {}

    def add(self, document: Any, name: str) -> None:
        """Add a document. ``name``: its file's, for errors. Raises :class:`InvalidSourceData` if it has none of the
        API's lists or objects, or an object without an id.
        """
        if not isinstance(document, Mapping):
            raise InvalidSourceData(f'{name}: a JSON object is needed, such as {{"loadbalancers": […]}}')
        if "statuses" in document:
            raise InvalidSourceData(
                f"{name}: a status tree has neither algorithms nor addresses of VIPs: the lists of the API are needed"
            )
        known = [key for key in document if key in _KIND_BY_LIST_NAME or key in _KINDS_BY_SINGULAR]
        if not known:
            raise InvalidSourceData(
                f"{name}: has none of {', '.join(sorted((*_KIND_BY_LIST_NAME, *_KINDS_BY_SINGULAR)))}"
            )
        for key in known:
            rows = document[key] if key in _KIND_BY_LIST_NAME else [document[key]]
            if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
                raise InvalidSourceData(f"{name}: {key}: a list of objects is needed")
            self._add_rows(_KIND_BY_LIST_NAME.get(key) or _KINDS_BY_SINGULAR[key], rows, f"{name}: {key}")

    def _add_rows(self, kind: str, rows: Iterable[Row], document_name: str) -> None:
        if kind == _SNI:
            self._lists.setdefault(kind, []).extend(rows)
            return
        known = self._rows.setdefault(kind, {})
        for row in rows:
            id_ = row.get(_ID_ATTRIBUTE_BY_KIND.get(kind, "id"))
            if not isinstance(id_, str) or not id_:
                raise InvalidSourceData(f"{document_name}: an object has no {_ID_ATTRIBUTE_BY_KIND.get(kind, 'id')}")
            known[id_] = {**known.get(id_, {}), **row}

    def get(self, kind: str, id_: Any) -> Row | None:
        """Return the object of this kind and id; None if there is none."""
        return self._rows.get(kind, {}).get(id_)

    def rows_of_kind(self, kind: str) -> list[Row]:
        """Return all objects of a kind, ordered by id."""
        found = self._rows.get(kind, {})
        return [found[id_] for id_ in sorted(found)]

    def sni_containers(self, listener_id: str) -> list[str]:
        """Return the references of a listener's SNI containers by the rows of the database, in their order;
        none without such rows.
        """
        rows = [row for row in self._lists.get(_SNI, ()) if row.get("listener_id") == listener_id]
        return [str(row["tls_container_id"]) for row in sorted(rows, key=lambda row: row.get("position") or 0)]


def convert_load_balancers(
    documents: LbaasDocuments, *, persistence_seconds: int | None = None
) -> list[ForeignLoadBalancer]:
    """Convert all load balancers of the documents, ordered by id.

    ``persistence_seconds``: time-out of source address persistence where a pool has none of its own; None:
    Even Keel's default. Raises :class:`InvalidSourceData` for a load balancer without a project, and for an object to
    which another object refers and that no document has.
    """
    made = _LoadBalancerConverter(documents, persistence_seconds)
    return [made.load_balancer(row) for row in documents.rows_of_kind(LOAD_BALANCERS)]


class _ConvertedObject(NamedTuple):
    body: dict[str, Any]
    lost: list[LostAttribute]


class _LoadBalancerConverter:
    """Makes the trees of load balancers for Even Keel's import API from the documents, and collects
    attributes that cannot be carried over.
    """

    def __init__(self, documents: LbaasDocuments, persistence_seconds: int | None) -> None:
        self._documents = documents
        self._persistence_seconds = persistence_seconds

    def load_balancer(self, row: Row) -> ForeignLoadBalancer:
        id_ = str(row["id"])
        listeners = [
            self._make_listener(each)
            for each in self._listed_children(row, LISTENERS, "loadbalancer_id", "loadbalancers")
        ]
        pools = [self._make_pool(each) for each in self._pools_of_root(row)]
        project_id = str(row.get("project_id") or row.get("tenant_id") or "")
        if not project_id:
            raise InvalidSourceData(f"load balancer {id_}: has no project_id")
        body = {
            **_copied_attributes(LOAD_BALANCERS, row),
            "project_id": project_id,
            "listeners": [each.body for each in listeners],
            "pools": [each.body for each in pools],
        }
        lost = [*_lost_attributes(LOAD_BALANCERS, row), *(lost for each in (*listeners, *pools) for lost in each.lost)]
        del body["id"]
        return ForeignLoadBalancer(
            id_, str(row.get("name") or ""), project_id, self._provider_name(row), body, tuple(lost)
        )

    def _provider_name(self, row: Row) -> str:
        association = self._documents.get(_PROVIDERS, row["id"]) or {}
        return str(row.get("provider") or association.get("provider_name") or "")

    def _listed_children(self, parent: Row, kind: str, *names: str) -> list[Row]:
        """Return the objects of ``kind`` that the parent lists, or that name the parent in one of the
        attributes ``names``, ordered by id. Raises :class:`InvalidSourceData` if a listed object is in no
        document.
        """
        listed = [_id_of_reference(each) for each in parent.get(_CHILD_ID_ATTRIBUTES.get(kind, kind)) or ()]
        found = {
            row["id"]: row for row in self._documents.rows_of_kind(kind) if _refers_to_id(row, names, parent["id"])
        }
        found |= {id_: self._required_row(kind, id_, parent["id"]) for id_ in listed}
        return [found[id_] for id_ in sorted(found)]

    def _pools_of_root(self, root: Row) -> list[Row]:
        """Return the pools of the load balancer, ordered by id: those that belong to it, and those that its
        listeners and their policies name. Raises :class:`InvalidSourceData` if one is in no document.
        """
        found = {row["id"]: row for row in self._listed_children(root, POOLS, "loadbalancer_id", "loadbalancers")}
        for listener in self._listed_children(root, LISTENERS, "loadbalancer_id", "loadbalancers"):
            wanted = [listener.get("default_pool_id")]
            wanted += [row.get("redirect_pool_id") for row in self._policies_of_listener(listener)]
            found |= {id_: self._required_row(POOLS, id_, listener["id"]) for id_ in wanted if id_}
        return [found[id_] for id_ in sorted(found)]

    def _required_row(self, kind: str, id_: str, referrer: str) -> Row:
        row = self._documents.get(kind, id_)
        if row is None:
            raise InvalidSourceData(f"{_TITLE_BY_KIND[kind]} {id_}, to which {referrer} refers, is in no document")
        return row

    def _policies_of_listener(self, listener: Row) -> list[Row]:
        found = self._listed_children(listener, POLICIES, "listener_id", "listeners")
        return sorted(found, key=lambda row: (row.get("position") or 0, row["id"]))

    def _make_listener(self, row: Row) -> _ConvertedObject:
        policies = [self._make_policy(each) for each in self._policies_of_listener(row)]
        body = {
            **_copied_attributes(LISTENERS, row),
            **_tls_attributes(row, self._documents),
            "l7policies": [each.body for each in policies],
        }
        lost = [*_lost_attributes(LISTENERS, row), *(lost for each in policies for lost in each.lost)]
        return _ConvertedObject(body, lost)

    def _make_policy(self, row: Row) -> _ConvertedObject:
        rules = [
            _ConvertedObject(_copied_attributes(RULES, each), list(_lost_attributes(RULES, each)))
            for each in self._listed_children(row, RULES, "l7policy_id", "policy_id", "policies")
        ]
        body = {**_copied_attributes(POLICIES, row), "rules": [each.body for each in rules]}
        return _ConvertedObject(
            body, [*_lost_attributes(POLICIES, row), *(lost for each in rules for lost in each.lost)]
        )

    def _make_pool(self, row: Row) -> _ConvertedObject:
        members = self._listed_children(row, MEMBERS, "pool_id")
        body = {**_copied_attributes(POOLS, row), "members": [_copied_attributes(MEMBERS, each) for each in members]}
        lost = [*_lost_attributes(POOLS, row), *(lost for each in members for lost in _lost_attributes(MEMBERS, each))]
        persistence = row.get("session_persistence") or self._documents.get(_PERSISTENCES, row["id"])
        if persistence:
            body["session_persistence"] = self._make_persistence(persistence)
        if monitor_id := row.get("healthmonitor_id") or _id_of_reference(row.get("healthmonitor") or ""):
            monitor = self._required_row(MONITORS, monitor_id, row["id"])
            body["healthmonitor"] = _make_monitor(monitor)
            lost += _lost_attributes(MONITORS, monitor)
        return _ConvertedObject(body, lost)

    def _make_persistence(self, row: Row) -> dict[str, Any]:
        body: dict[str, Any] = {"type": row.get("type")}
        if row.get("cookie_name") and row.get("type") == "APP_COOKIE":
            body["cookie_name"] = row["cookie_name"]
        seconds = _number_or_none(row.get("persistence_timeout")) or self._persistence_seconds
        if row.get("type") == "SOURCE_IP" and seconds:
            body["persistence_timeout"] = seconds
        return body


_CHILD_ID_ATTRIBUTES = {RULES: "rules"}
"""Name of a parent's attribute with the ids of its children, by kind, where it is not the kind's name."""


def _id_of_reference(reference: Any) -> str:
    return str(reference.get("id", "")) if isinstance(reference, Mapping) else str(reference)


def _refers_to_id(row: Row, names: Iterable[str], id_: str) -> bool:
    for name in names:
        value = row.get(name)
        if value == id_ or (isinstance(value, list) and any(_id_of_reference(each) == id_ for each in value)):
            return True
    return False


def _copied_attributes(kind: str, row: Row) -> dict[str, Any]:
    """Return the attributes that have the same meaning in Octavia, without nulls; numbers that stand for booleans in a
    database are converted.
    """
    body: dict[str, Any] = {"id": row["id"]}
    common = [name for name in _COMMON_ATTRIBUTES if name not in _MISSING_ATTRIBUTES.get(kind, ())]
    for name in (*common, *_COPIED_ATTRIBUTES[kind]):
        if (value := row.get(name)) is not None:
            body[name] = bool(value) if name in ("admin_state_up", "invert") else value
    return body


def _make_monitor(row: Row) -> dict[str, Any]:
    body = _copied_attributes(MONITORS, row)
    if row.get("type") in _HTTP_MONITOR_TYPES:
        body |= {name: row[name] for name in _HTTP_MONITOR_ATTRIBUTES if row.get(name)}
    return body


def _tls_attributes(row: Row, documents: LbaasDocuments) -> dict[str, Any]:
    """Return the TLS attributes of a listener under Octavia's names, without unset ones."""
    body: dict[str, Any] = {}
    if reference := row.get("default_tls_container_ref") or row.get("default_tls_container_id"):
        body["default_tls_container_ref"] = reference
    named = row.get("sni_container_refs") or [
        each["tls_container_id"] if isinstance(each, Mapping) else each for each in row.get("sni_containers") or ()
    ]
    if references := list(named or documents.sni_containers(row["id"])):
        body["sni_container_refs"] = references
    if row.get("mutual_authentication_up") and row.get("ca_container_id"):
        body["client_authentication"] = "MANDATORY"
        body["client_ca_tls_container_ref"] = row["ca_container_id"]
    if versions := [_TLS_VERSIONS[name] for name in _split_words(row.get("tls_protocols")) if name in _TLS_VERSIONS]:
        body["tls_versions"] = versions
    if row.get("http2") and row.get("protocol") == "TERMINATED_HTTPS":
        body["alpn_protocols"] = ["h2", "http/1.1"]
    return body


def _split_words(value: Any) -> list[str]:
    return [word.strip() for word in str(value or "").split(",") if word.strip()]


def _number_or_none(value: Any) -> int | None:
    try:
        return int(value) if value else None
    except (TypeError, ValueError):
        return None


def _lost_attributes(kind: str, row: Row) -> Iterator[LostAttribute]:
    """Yield the attributes of an object that have an effect and are not carried over, because Octavia has
    nothing like them.
    """
    known = {*_COMMON_ATTRIBUTES, *_COPIED_ATTRIBUTES[kind], *_HANDLED_ATTRIBUTES[kind], *_IGNORED_ATTRIBUTES}
    names = [name for name in sorted(row.keys() - known) if has_effect(row[name])]
    if kind == LISTENERS and row.get("http2") and row.get("protocol") != "TERMINATED_HTTPS":
        names.append("http2")
    yield from (LostAttribute(_TITLE_BY_KIND[kind], str(row["id"]), name, row[name]) for name in names)
