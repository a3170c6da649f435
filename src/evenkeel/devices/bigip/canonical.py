"""Canonical forms of attributes, to compare wanted with observed values. Pure.

A device returns attributes in its own form: numbers as text, full paths, a trailing space after a monitor, no attribute
for an empty list, ``monitor-enabled`` for an enabled member. Comparing other than canonical forms would cause a write
on every pass.
"""

import functools
import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from evenkeel.devices.bigip.naming import COMMON

_EMPTY_VALUES = ("", "none", "None")


def has_wanted_value(name: str, wanted: Any, seen: Mapping[str, Any]) -> bool:
    """Whether the attribute ``name`` has the wanted value among the observed attributes ``seen``, both in
    canonical form.
    """
    value = seen.get(name)
    if type(value) is type(wanted) and value == wanted:  # cheap, and the usual case after our own writes
        return True
    canonical = canonical_form_function(name)
    return bool(canonical(wanted) == canonical(value))


def canonical_form_function(name: str) -> Callable[[Any], object]:
    """Return the function that converts values of this attribute to their canonical form; :func:`scalar_text`
    for attributes without a form of their own.
    """
    return _FORMS_BY_ATTRIBUTE.get(name, scalar_text)


def differing_attributes(wanted: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wanted attributes whose observed value differs, with their wanted values."""
    return {name: value for name, value in wanted.items() if not has_wanted_value(name, value, seen)}


def predict_attributes(seen: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Predict the attributes that the device returns after ``written`` is written over ``seen``, for later
    comparisons.
    """
    merged = {**seen, **written}
    # A device returns only one of the two, so the other one of an earlier reading would be wrong after the write.
    for one, other in (("enabled", "disabled"), ("disabled", "enabled")):
        if written.get(one) is True:
            merged.pop(other, None)
    # A reading may have the list also as a subcollection (`...Reference`), which is outdated after the write.
    for name in ("profiles", "policies", "rules"):
        if name in written:
            merged.pop(f"{name}Reference", None)
    if "certKeyChain" in written:  # the device also returns the first pair as attributes of the profile
        for name in ("cert", "key", "chain"):
            merged.pop(name, None)
    return merged


def scalar_text(value: Any) -> str:
    """Convert a number, word or flag to text; None, False and all forms of "none" give empty text."""
    if value is None or value is False:
        return ""
    text = "true" if value is True else str(value).strip()
    return "" if text in _EMPTY_VALUES else text


def _canonical_address(value: Any) -> str:
    """Return an IP address in its shortest form. The device writes wildcard addresses as a word, or without route
    domain.
    """
    return _shortest_address(scalar_text(value))


# A look at a partition compares each member's address several times, and parsing it was half of the look's time.
@functools.lru_cache(maxsize=32_768)
def _shortest_address(text: str) -> str:
    host, percent, domain = text.partition("%")
    try:
        found = ipaddress.ip_address(_ADDRESSES_OF_WILDCARDS.get(host, host))
    except ValueError:
        return text
    return str(found) if found.is_unspecified else f"{found}{percent}{domain}"


_ADDRESSES_OF_WILDCARDS = {"any": "0.0.0.0", "any6": "::"}  # noqa: S104  # compared, not bound


def _address_and_port(value: Any) -> tuple[str, str]:
    """Split a destination into virtual address and port (``0``: any). IPv6 uses ``address.port``, and so may
    names of IPv6 addresses; else the form is ``address:port``.
    """
    text = scalar_text(value)
    at = max(text.rfind("."), text.rfind(":"))
    head, port = text[: max(at, 0)], text[at + 1 :]
    folder, slash, last = head.rpartition("/")
    return f"{folder}{slash}{_canonical_address(last)}", "0" if port == "any" else port


def _translation_type_and_pool(value: Any) -> tuple[str, str]:
    found = value if isinstance(value, Mapping) else {}
    return scalar_text(found.get("type")), scalar_text(found.get("pool"))


def split_address(text: str) -> tuple[str, int]:
    """Split ``10.0.0.1%7`` or ``10.0.0.1%7/24`` into address and route domain; 0 if the text names no route
    domain.
    """
    host, _, rest = text.partition("%")
    number = rest.partition("/")[0]
    return host.partition("/")[0], int(number) if number.isdigit() else 0


def full_path(item: Any) -> str:
    """Return the full path of an object that a list names, as text or by attributes; by attributes without a
    partition, in /Common.
    """
    if not isinstance(item, Mapping):
        return scalar_text(item)
    if "fullPath" in item:
        return scalar_text(item["fullPath"])
    name = scalar_text(item.get("name"))
    return name if name.startswith("/") else f"/{item.get('partition', COMMON)}/{name}"


def _profiles_and_contexts(value: Any) -> frozenset[tuple[str, str]]:
    return frozenset(
        (full_path(item), item.get("context", "all") if isinstance(item, Mapping) else "all")
        for item in _item_list(value)
    )


def _path_set(value: Any) -> frozenset[str]:
    return frozenset(full_path(item) for item in _item_list(value))


def _item_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "", "none") else [value]


def _path_list(value: Any) -> tuple[str, ...]:
    return tuple(full_path(item) for item in _item_list(value))


def _option_set(value: Any) -> frozenset[str]:
    """Return the options of a profile as a set: devices send a list, or since 14.0 one text in braces."""
    words = value if isinstance(value, list) else scalar_text(value).strip("{} ").split()
    return frozenset(map(str, words)) - set(_EMPTY_VALUES)


def _cert_key_chains(value: Any) -> tuple[tuple[str, ...], ...]:
    entries = [item for item in _item_list(value) if isinstance(item, Mapping)]
    return tuple(sorted(tuple(scalar_text(item.get(name)) for name in ("cert", "key", "chain")) for item in entries))


def _record_set(value: Any) -> frozenset[tuple[object, ...]]:
    """Return the records of a data group, with all networks and addresses in one notation, or of a forwarding table."""
    entries = [item for item in _item_list(value) if isinstance(item, Mapping)]
    return frozenset(
        (
            _canonical_network(item.get("name")),
            scalar_text(item.get("data")),
            _canonical_end_point(item.get("endpoint")),
            frozenset(map(_canonical_end_point, _item_list(item.get("endpoints")))),
        )
        for item in entries
    )


def _canonical_end_point(value: Any) -> str:
    """Return the address of a tunnel's end point without the route domain 0 that devices may append."""
    return scalar_text(value).removesuffix("%0")


def _vlan_interfaces(value: Any) -> frozenset[tuple[str, bool]]:
    """Return the interfaces of a VLAN as pairs: name, whether tagged."""
    entries = [item for item in _item_list(value) if isinstance(item, Mapping)]
    return frozenset((scalar_text(item.get("name")), item.get("tagged") is True) for item in entries)


def _canonical_network(value: Any) -> str:
    try:
        return str(ipaddress.ip_network(str(value)))
    except ValueError:
        return str(value)


def _hsts_settings(value: Any) -> tuple[str, ...]:
    found = value if isinstance(value, Mapping) else {}
    return tuple(scalar_text(found.get(name)) for name in ("mode", "maximumAge", "includeSubdomains", "preload"))


def _member_session(value: Any) -> str:
    return "disabled" if value == "user-disabled" else "enabled"


def _member_state(value: Any) -> str:
    return "down" if value == "user-down" else "up"


def _ordered_rules(value: Any) -> object:
    """Return a virtual server's iRules in order, or an LTM policy's rules in order with conditions and actions."""
    items = _item_list(value)
    if not any(isinstance(item, Mapping) and "ordinal" in item for item in items):
        return _path_list(value)
    return tuple(
        (
            scalar_text(item.get("name")),
            _policy_statements(item.get("conditions")),
            _policy_statements(item.get("actions")),
        )
        for item in sorted(items, key=lambda item: int(item["ordinal"]))
    )


def _policy_statements(value: Any) -> tuple[frozenset[object], ...]:
    """Return the conditions or actions of a policy's rule, sorted by their number."""
    items = sorted(_item_list(value), key=lambda item: int(item.get("name", 0)))
    return tuple(frozenset(filter(None, map(_canonical_statement, item.items()))) for item in items)


def _canonical_statement(setting: tuple[str, Any]) -> tuple[str, object] | None:
    """Return one setting of a condition or action in canonical form; None if it is empty or one that devices add."""
    name, value = setting
    if name in _IGNORED_ATTRIBUTES or name.endswith("Reference") or (name == "code" and value == _USUAL_CODE):
        return None
    if name == "values":
        return name, tuple(map(scalar_text, _item_list(value)))
    text = scalar_text(value)
    return (name, text) if text not in ("", "0") else None


# of conditions: defaults, and the opposite of caseSensitive
_DEFAULT_SETTINGS = ("caseInsensitive", "external", "remote", "present")
_IGNORED_ATTRIBUTES = frozenset({"name", "fullPath", "kind", "selfLink", "generation", *_DEFAULT_SETTINGS})
_USUAL_CODE = 302


def _is_true(value: Any) -> bool:
    return value is True or value == "true"


_FORMS_BY_ATTRIBUTE: Mapping[str, Callable[[Any], object]] = {
    "address": _canonical_address,
    "ipAddress": _canonical_address,
    "remoteAddress": _canonical_address,
    "mask": _canonical_address,
    "destination": _address_and_port,
    "sourceAddressTranslation": _translation_type_and_pool,
    "profiles": _profiles_and_contexts,
    "persist": _path_set,
    "policies": _path_set,
    "rules": _ordered_rules,
    "contentTypeInclude": _option_set,
    "encryptCookies": _option_set,
    "controls": _option_set,
    "requires": _option_set,
    "legacy": _is_true,
    "allow": _path_set,
    "tmOptions": _option_set,
    "certKeyChain": _cert_key_chains,
    "records": _record_set,
    "interfaces": _vlan_interfaces,
    "vlans": _path_set,
    "members": _path_set,
    "hsts": _hsts_settings,
    "session": _member_session,
    "state": _member_state,
}
