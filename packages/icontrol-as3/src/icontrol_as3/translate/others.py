"""iRules, data groups, persistence and HTTP profiles."""

from __future__ import annotations

from collections.abc import Iterator

from icontrol_as3.translate.names import Place, Wanted, described, on_off, shortest

_MATCHES = {
    "matchAcrossPools": "matchAcrossPools", "matchAcrossVirtualAddresses": "matchAcrossVirtuals",
    "matchAcrossVirtualPorts": "matchAcrossServices", "overrideConnectionLimit": "overrideConnectionLimit",
}  # fmt: skip


def irule(place: Place) -> Iterator[Wanted]:
    yield Wanted("ltm/rule", place.path, {"apiAnonymous": place.item["iRule"].strip().replace("\r\n", "\n")})


def data_group(place: Place) -> Iterator[Wanted]:
    item = place.item
    records = [
        {"name": str(each["key"]), **({"data": each["value"]} if each.get("value") else {})}
        for each in item.get("records", [])
    ]
    body = {"type": item["keyDataType"], "records": records, **described(item)}
    yield Wanted("ltm/data-group/internal", place.path, body)


def persist(place: Place) -> Iterator[Wanted]:
    item = place.item
    method = item["persistenceMethod"]
    kind = method.replace("destination", "dest").replace("address", "addr").replace("tls-session-id", "ssl")
    kind = kind.replace("-info", "")
    body = {"timeout": str(item.get("duration", 180) or "indefinite"), **described(item)}
    body |= {name: on_off(item[own]) for own, name in _MATCHES.items() if own in item}
    if "addressMask" in item:
        body["mask"] = shortest(item["addressMask"])
    if "iRule" in item:
        body["rule"] = place.refer("iRule", item["iRule"], "iRule")
    if "cookieName" in item:
        body["cookieName"] = item["cookieName"]
    if "cookieMethod" in item:
        body["method"] = item["cookieMethod"]
    yield Wanted(f"ltm/persistence/{kind}", place.path, body)


def http_profile(place: Place) -> Iterator[Wanted]:
    item = place.item
    body = {"insertXforwardedFor": on_off(item.get("xForwardedFor", True)), **described(item)}
    if item.get("fallbackRedirect"):
        body["fallbackHost"] = item["fallbackRedirect"]
    yield Wanted("ltm/profile/http", place.path, body)
