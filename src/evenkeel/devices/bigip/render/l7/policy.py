"""L7 policies as one LTM policy of the listener. Pure.

An LTM policy is used only where it means exactly what the API does (:func:`expressible_as_policy`): redirects to pools
and, with code 302, to URLs, by host name, path and file type. Not expressible: REJECT (a policy can only reset the
connection), other codes (not before all releases that we support), prefixes, expressions, certificates; headers and
cookies (a policy compares a whole header, and the meaning of ``not`` without the header is not documented, which
concerns the Host header too); pools of which some use TLS, another session persistence, or connections of their own. If
one L7 policy needs more, an iRule implements all of them (:mod:`evenkeel.devices.bigip.render.l7.code`), so that they
stay in one order.

Each L7 policy is a rule; the strategy is first-match. The last rule, without a condition, is the default pool: a pool
once chosen may otherwise stay for later requests of a connection.

The LTM policy is a ``legacy`` one, as F5's own agents create them: it is created and modified in place. Others are
created and changed as drafts only and then published by a command, which is no change of an object and, as far as is
known, cannot be part of a transaction. A location is taken literally: only one that begins with ``tcl:`` is code.
"""

import re
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip.naming import BigIpNames, plain_or_digest
from evenkeel.devices.bigip.objects import POLICY, Key, WantedObject
from evenkeel.devices.bigip.render.l7.effective import EffectivePolicy, Routing
from evenkeel.devices.bigip.render.l7.persistence import same_persistence
from evenkeel.devices.bigip.render.l7.sharing import shares_connections
from evenkeel.devices.bigip.render.l7.values import Comparison, parse_comparison
from evenkeel.devices.challenges import challenge_responses
from evenkeel.devices.l7 import redirect_code, redirect_url

CHALLENGES_RULE, DEFAULT_RULE = "challenges", "default"
_OPERANDS = {"host": ("httpHost", "host"), "path": ("httpUri", "path")}
_OPERATORS = {"equal": "equals", "starts": "startsWith", "ends": "endsWith", "contains": "contains"}
_PLAIN_PATTERN = re.compile(r"[A-Za-z0-9._~!&'()*+,;=:@/?#%-]+")
"""Matches text without characters that are special to tmsh or Tcl."""


def expressible_as_policy(routing: Routing) -> bool:
    """Whether an LTM policy means exactly what these L7 policies do. Raises :class:`Unrenderable` for a rule
    or redirect that no BIG-IP can implement.
    """
    return (
        routing.default is not None
        and same_persistence(routing.pools)
        and shares_connections(routing)
        and not routing.uses_tls
        and all(_expressible_as_policy(each) for each in routing.policies)
    )


def _expressible_as_policy(each: EffectivePolicy) -> bool:
    if not all(_is_comparable(parse_comparison(rule)) for rule in each.rules):
        return False
    if each.policy.action == "REDIRECT_TO_URL":
        # Not all supported releases have other codes, and other characters may be special to tmsh or Tcl.
        return redirect_code(each.policy) == 302 and bool(_PLAIN_PATTERN.fullmatch(redirect_url(each.policy)))
    return each.policy.action == "REDIRECT_TO_POOL"


def _is_comparable(wanted: Comparison) -> bool:
    if (
        wanted.operand not in _OPERANDS
        or wanted.operator not in _OPERATORS
        or not _PLAIN_PATTERN.fullmatch(wanted.value)
    ):
        return False
    # What `not` means for a request without a Host header is not documented.
    return not (wanted.operand == "host" and wanted.invert)


def policy_object(service: ServiceDefinition, routing: Routing, names: BigIpNames) -> WantedObject:
    """Build the LTM policy of the listener, for L7 policies of which :func:`expressible_as_policy` is true.
    Raises :class:`Unrenderable` for a challenge that RFC 8555 does not allow.
    """
    partition = names.partition_name(service.project_id)
    rules: list[dict[str, Any]] = []
    default = "" if routing.default is None else f"/{partition}/{names.object_name(routing.default.id)}"
    # The iRule answers them afterwards, which it could not after a redirect.
    if default and (challenges := list(challenge_responses(service, routing.listener))):
        matching = {**_rule_condition(0, Comparison(operand="path", operator="equal", value="")), "values": challenges}
        rules.append(
            {"name": CHALLENGES_RULE, "ordinal": 0, "conditions": [matching], "actions": [_forward_action(default)]}
        )
    rules.extend(_policy_rule(place, each, partition, names) for place, each in enumerate(routing.policies, len(rules)))
    if default:
        forward = _forward_action(default)
        rules.append({"name": DEFAULT_RULE, "ordinal": len(rules), "conditions": [], "actions": [forward]})
    return WantedObject(
        key=Key(type=POLICY, name=names.auxiliary_object_name("l7", routing.listener.id)),
        owner=service.load_balancer_id,
        attributes={
            "legacy": True,
            "strategy": "/Common/first-match",
            "controls": ["forwarding"],
            "requires": ["http"],
            "rules": rules,
            "description": names.marked_description("l7", service.load_balancer_id, routing.listener.id),
        },
        immutables=frozenset({"legacy"}),
    )


def _policy_rule(place: int, each: EffectivePolicy, partition: str, names: BigIpNames) -> dict[str, Any]:
    conditions = [_rule_condition(number, parse_comparison(rule)) for number, rule in enumerate(each.rules)]
    return {
        "name": plain_or_digest(each.policy.id),
        "ordinal": place,
        "conditions": conditions,
        "actions": [
            _forward_action(f"/{partition}/{names.object_name(each.pool.id)}")
            if each.pool
            else _redirect_action(redirect_url(each.policy))
        ],
    }


def _rule_condition(number: int, wanted: Comparison) -> dict[str, Any]:
    operand, selector = _OPERANDS[wanted.operand]
    return {
        "name": str(number),
        operand: True,
        selector: True,
        "request": True,
        _OPERATORS[wanted.operator]: True,
        **({"not": True} if wanted.invert else {}),
        "caseInsensitive" if wanted.operand == "host" else "caseSensitive": True,
        "values": [wanted.value],
    }


def _forward_action(pool: str) -> dict[str, Any]:
    return {"name": "0", "forward": True, "select": True, "request": True, "pool": pool}


def _redirect_action(location: str) -> dict[str, Any]:
    return {"name": "0", "httpReply": True, "redirect": True, "request": True, "location": location}
