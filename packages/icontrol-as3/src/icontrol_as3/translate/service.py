"""Services: virtual servers with their addresses and profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_as3.translate.names import COMMON, Place, Wanted, endpoint, on_off, shortest
from icontrol_as3.translate.tls import server_profiles

_TCP = {word: f"/Common/f5-tcp-{word}" for word in ("lan", "mobile", "wan")} | {"normal": "/Common/f5-tcp-progressive"}
_WORDS = {
    "profileHTTP": {"basic": "/Common/http"}, "profileMultiplex": {"basic": "/Common/oneconnect"},
    "profileHTTPCompression": {"basic": "/Common/httpcompression"}, "profileL4": {"basic": "/Common/fastL4"},
    "profileUDP": {"normal": "/Common/udp"}, "profileTCP": _TCP,
}  # fmt: skip
_CLASSES = {"profileHTTP": ("HTTP_Profile",)}
_PORTS = {"Service_HTTP": 80, "Service_HTTPS": 443}
_DEFAULT_PERSISTENCE = {
    "Service_HTTP": ["cookie"], "Service_HTTPS": ["cookie"], "Service_L4": ["source-address"],
    "Service_TCP": ["source-address"], "Service_UDP": ["source-address"], "Service_Generic": ["source-address"],
}  # fmt: skip
_LAST_HOP = {"default": "default", "auto": "enabled", "disable": "disabled"}
REDIRECT_RULE = "/Common/_sys_https_redirect"


def service(place: Place) -> Iterator[Wanted]:
    item = place.item
    if not item.get("enable", True):
        return
    port = item.get("virtualPort", _PORTS.get(item["class"], 0))
    body = _body(place, item)
    for number, address in enumerate(item["virtualAddresses"]):
        suffix = f"-{number}-" if number else ""
        host = _host(place, address)
        yield _address(place, host)
        yield Wanted("ltm/virtual", f"{place.path}{suffix}", {**body, **_destination(place, host, port)})
        if item["class"] == "Service_HTTPS" and item.get("redirect80", True):
            yield _redirect(place, body, host, suffix)


def _host(place: Place, address: str) -> str:
    host = shortest(address)
    return host if "%" in host else f"{host}{place.route_domain}"


def _address(place: Place, host: str) -> Wanted:
    body = {
        "address": host, "arp": "enabled", "icmpEcho": "enabled", "spanning": "disabled", "autoDelete": "false",
        "routeAdvertisement": "disabled",
    }  # fmt: skip
    return Wanted("ltm/virtual-address", f"{place.top}/{host}", body)


def _destination(place: Place, host: str, port: int) -> dict[str, Any]:
    return {"destination": f"{place.top}/{endpoint(host, port)}"}


def _redirect(place: Place, body: Mapping[str, Any], host: str, suffix: str) -> Wanted:
    """The virtual server on port 80 that sends clients to the HTTPS service."""
    kept = {name: body[name] for name in ("description", "ipProtocol", "sourceAddressTranslation")}
    profiles = [{"name": "/Common/http"}, {"name": "/Common/f5-tcp-progressive"}]
    more = {"profiles": profiles, "rules": [REDIRECT_RULE], **_destination(place, host, 80)}
    return Wanted("ltm/virtual", f"{place.path}-Redirect{suffix or '-'}", {**kept, **more})


def _body(place: Place, item: Mapping[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "description": item.get("remark") or place.application, "ipProtocol": _protocol(item),
        "connectionLimit": item.get("maxConnections", 0), "profiles": list(_profiles(place, item)),
        "mirror": on_off(item.get("mirroring", "none") == "L4"),
        "addressStatus": "yes" if item.get("addressStatus", True) else "no",
        "translateAddress": on_off(item.get("translateServerAddress", True)),
        "translatePort": on_off(item.get("translateServerPort", True)),
        "autoLasthop": _LAST_HOP[item.get("lastHop", "default")],
        "sourceAddressTranslation": _snat(place, item.get("snat", "auto")),
        "enabled" if item.get("adminState", "enable") == "enable" else "disabled": True,
        **_vlans(place, item), **_persistence(place, item),
    }  # fmt: skip
    if item.get("pool"):
        body["pool"] = place.refer("pool", item["pool"], "Pool")
    body["rules"] = [place.refer("iRules", each, "iRule") for each in item.get("iRules", [])]
    policies = item.get("policyEndpoint", [])
    body["policies"] = [{"name": place.refer("policyEndpoint", each, "Endpoint_Policy")} for each in policies]
    return body


def _protocol(item: Mapping[str, Any]) -> str:
    return "udp" if item["class"] == "Service_UDP" else str(item.get("layer4", "tcp"))


def _snat(place: Place, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"type": value.replace("auto", "automap")}
    return {"type": "snat", "pool": place.refer("snat", value)}


def _vlans(place: Place, item: Mapping[str, Any]) -> dict[str, Any]:
    """Listening on some VLANs, on all but some, or on all."""
    allowed = item.get("allowVlans")
    if allowed:
        return {"vlansEnabled": True, "vlans": [_vlan(place, each) for each in allowed]}
    return {"vlansDisabled": True, "vlans": [_vlan(place, each) for each in item.get("rejectVlans", [])]}


def _vlan(place: Place, value: Any) -> str:
    # VLANs are no class of declarations: the name alone is one in /Common
    return f"/{COMMON}/{value}" if isinstance(value, str) and "/" not in value else place.refer("allowVlans", value)


def _persistence(place: Place, item: Mapping[str, Any]) -> dict[str, Any]:
    methods = item.get("persistenceMethods", _DEFAULT_PERSISTENCE[item["class"]])
    paths = [_persistence_path(place, "persistenceMethods", each) for each in methods]
    shown: dict[str, Any] = {}
    if paths:
        shown["persist"] = [{"name": path, "tmDefault": "no" if number else "yes"} for number, path in enumerate(paths)]
    if "fallbackPersistenceMethod" in item:
        fallback = item["fallbackPersistenceMethod"]
        shown["fallbackPersistence"] = _persistence_path(place, "fallbackPersistenceMethod", fallback)
    return shown


def _persistence_path(place: Place, name: str, value: Any) -> str:
    if not isinstance(value, str):
        return place.refer(name, value, "Persist")
    word = value.replace("destination", "dest").replace("address", "addr").replace("tls-session-id", "ssl")
    return f"/Common/{word.replace('-', '_')}"


def _profiles(place: Place, item: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    kind = item["class"]
    if kind == "Service_L4" or "profileL4" in item:
        yield {"name": _profile(place, item, "profileL4", "basic")}
        return
    if _protocol(item) == "udp":
        yield {"name": _profile(place, item, "profileUDP", "normal")}
    else:
        yield from _tcp_profiles(place, item)
    if kind in ("Service_HTTP", "Service_HTTPS"):
        yield {"name": _profile(place, item, "profileHTTP", "basic")}
        for name in ("profileMultiplex", "profileHTTPCompression"):
            if name in item:
                yield {"name": _profile(place, item, name, "")}
    if "serverTLS" in item:
        yield from ({"name": path, "context": "clientside"} for path in _server_tls(place, item["serverTLS"]))
    if "clientTLS" in item:
        yield {"name": place.refer("clientTLS", item["clientTLS"], "TLS_Client"), "context": "serverside"}


def _server_tls(place: Place, value: Any) -> list[str]:
    found = place.find("serverTLS", value, "TLS_Server")
    return [found] if isinstance(found, str) else server_profiles(found)


def _tcp_profiles(place: Place, item: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    value = item.get("profileTCP", "normal")
    if isinstance(value, Mapping) and "ingress" in value:
        for side, context in (("ingress", "clientside"), ("egress", "serverside")):
            yield {"name": _profile(place, {"profileTCP": value[side]}, "profileTCP", ""), "context": context}
        return
    yield {"name": _profile(place, item, "profileTCP", "normal")}


def _profile(place: Place, item: Mapping[str, Any], name: str, default: str) -> str:
    value = item.get(name, default)
    if isinstance(value, str):
        return _WORDS[name][value]
    return place.refer(name, value, *_CLASSES.get(name, ()))
