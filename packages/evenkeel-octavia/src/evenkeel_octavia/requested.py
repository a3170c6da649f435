"""L7 policies of a fully populated create, taken from the tenant's request.

Octavia 19 gives the driver the listeners of such a request with an empty list of policies, and calls neither
``l7policy_create`` nor ``l7rule_create``; what it commits has them. The driver runs inside Pecan's request, whose body
is Octavia's published API. It is used for the check only: what is stored is what Octavia committed. Without a request,
or with one in another form, policies are not checked, and one that the device type can't do ends in ERROR.
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Body = dict[str, Any]
_OMITTED_POLICY_ATTRIBUTES = frozenset(
    ("id", "project_id", "tenant_id", "rules", "redirect_pool", "listener_id", "position")
)


def current_request_body() -> object:
    """Return the decoded body of the API request that this thread handles; None if there is none."""
    try:
        import pecan

        return json.loads(pecan.request.body)
    except (ImportError, AttributeError, ValueError):
        return None


def add_requested_policies(body: Body, requested: object) -> Body:
    """Return a load balancer's body; listeners without L7 policies get those of the tenant's request.

    ``requested``: the request's body. If it is not a fully populated create, nothing is added.
    """
    listeners = {
        _protocol_and_port(each): each for each in _get_objects(_get_object(requested, "loadbalancer"), "listeners")
    }
    if not listeners:
        return body
    pools = {pool.get("name"): pool["id"] for pool in body.get("pools", ())}
    completed = [
        _add_policies(each, listeners.get(_protocol_and_port(each), {}), pools) for each in body.get("listeners", ())
    ]
    return {**body, "listeners": completed} if completed else body


def _add_policies(listener: Body, requested: Mapping[str, Any], pools: Mapping[Any, str]) -> Body:
    policies = [
        _policy_body(each, number, pools) for number, each in enumerate(_get_objects(requested, "l7policies"), 1)
    ]
    return {**listener, "l7policies": policies} if policies and not listener.get("l7policies") else listener


def _policy_body(requested: Mapping[str, Any], position: int, pools: Mapping[Any, str]) -> Body:
    policy = {**_own_attributes(requested), "position": position}
    pool = pools.get(_get_object(requested, "redirect_pool").get("name"))
    if pool is not None:
        policy["redirect_pool_id"] = pool
    rules = [_own_attributes(each) for each in _get_objects(requested, "rules")]
    return policy | ({"rules": rules} if rules else {})


def _own_attributes(requested: Mapping[str, Any]) -> Body:
    """Return the object's own attributes with a new id, because the id that Octavia assigned is not available here."""
    kept = {
        name: value
        for name, value in requested.items()
        if name not in _OMITTED_POLICY_ATTRIBUTES and value not in (None, [])
    }
    return {**kept, "id": str(uuid.uuid4())}


def _protocol_and_port(listener: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return protocol and port of a listener, which identify it in its load balancer."""
    return listener.get("protocol"), listener.get("protocol_port")


def _get_object(body: object, name: str) -> Mapping[str, Any]:
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _get_objects(body: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    values = body.get(name)
    if isinstance(values, Sequence) and not isinstance(values, str):
        yield from (each for each in values if isinstance(each, Mapping))
