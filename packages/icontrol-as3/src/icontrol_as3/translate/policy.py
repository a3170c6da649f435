"""Endpoint policies: local traffic policies with rules, conditions and actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_as3.translate.names import Place, Wanted, described

_OPERANDS = {
    "contains": ("contains", False), "does-not-contain": ("contains", True), "does-not-end-with": ("endsWith", True),
    "does-not-equal": ("equals", True), "does-not-exist": ("exists", True),
    "does-not-start-with": ("startsWith", True), "ends-with": ("endsWith", False), "equals": ("equals", False),
    "exists": ("exists", False), "starts-with": ("startsWith", False),
}  # fmt: skip
"""Comparison -> the device's word, and whether it is negated."""
_EVENTS = {"client-accepted": "clientAccepted", "ssl-client-hello": "sslClientHello"}
_FRAME = frozenset({"type", "event", "name"})


def endpoint_policy(place: Place) -> Iterator[Wanted]:
    item = place.item
    rules = [
        {
            "name": rule["name"], "ordinal": number, **described(rule),
            "conditions": list(_conditions(rule.get("conditions", []))),
            "actions": [
                {"name": str(index), **_action(place, each)} for index, each in enumerate(rule.get("actions", []))
            ],
        }
        for number, rule in enumerate(item["rules"])
    ]  # fmt: skip
    strategy = f"/Common/{item.get('strategy', 'best-match')}"
    yield Wanted("ltm/policy", place.path, {"strategy": strategy, "rules": rules, **described(item)})


def _event(part: Mapping[str, Any], default: str) -> dict[str, bool]:
    event = part.get("event", default)
    return {_EVENTS.get(event, event): True}


def _conditions(conditions: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    flat = [(condition, part) for condition in conditions for part in condition.keys() - _FRAME]
    for number, (condition, part) in enumerate(sorted(flat, key=lambda each: conditions.index(each[0]))):
        compared = condition[part]
        word, negated = _OPERANDS[compared.get("operand", "equals")]
        default = "ssl-client-hello" if condition["type"] == "sslExtension" else "request"
        shown: dict[str, Any] = {
            "name": str(number), condition["type"]: True, part: True, word: True, **_event(condition, default),
            "caseSensitive" if compared.get("caseSensitive") else "caseInsensitive": True,
        }  # fmt: skip
        shown |= {"not": True} if negated else {}
        shown |= {"tmName": condition["name"]} if "name" in condition else {}
        shown |= {"values": compared["values"]} if compared.get("values") else {}
        yield shown


def _action(place: Place, action: Mapping[str, Any]) -> dict[str, Any]:
    kind = action["type"]
    event = _event(action, "request")
    if kind == "forward":
        select = action["select"]
        targets = {name: place.refer(f"select/{name}", value, *_classes(name)) for name, value in select.items()}
        return {"forward": True, "select": True, **event, **targets}
    if kind == "drop":
        return {"shutdown": True, "connection": True, **event}
    if kind == "httpRedirect":
        code = {"code": action["code"]} if "code" in action else {}
        return {"httpReply": True, "redirect": True, "location": action["location"], **code, **event}
    [(verb, change)] = [(name, value) for name, value in action.items() if name not in _FRAME][:1] or [("remove", {})]
    shown = {"tmName": change.get("name", ""), **({"value": change["value"]} if "value" in change else {})}
    return {"httpHeader": True, verb: True, **shown, **event}


def _classes(name: str) -> tuple[str, ...]:
    if name == "pool":
        return ("Pool",)
    return ("Service_Generic", "Service_HTTP", "Service_HTTPS", "Service_L4", "Service_TCP", "Service_UDP")
