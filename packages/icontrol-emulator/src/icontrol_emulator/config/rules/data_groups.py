"""Internal data groups: their records, and tmsh's text that edits single ones."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import SEPARATOR, Key, Obj
from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Context
from icontrol_emulator.errors import IControlError

STRING_BYTES_MAX = 65_520
INTEGER_MAX = 2**63 - 1
Record = dict[str, str]


class DataGroupRules(BuiltInRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        kind = props.get("type")
        if kind not in KINDS:
            raise errors.invalid_value("type", kind if kind is not None else "")
        found: dict[str, Record] = {}
        for record in _listed(props.get("records")):
            made = _record(str(kind), draft.key.path, record)
            if made["name"] in found:
                raise errors.already_exists(
                    "class string item", f"{draft.key.path} {made['name']}", draft.partition
                )  # fmt: skip
            found[made["name"]] = made
        _, order = KINDS[str(kind)]
        props["records"] = sorted(found.values(), key=lambda record: order(record["name"]))
        if not found:
            props.pop("records")

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        word = "rule" if user.key.type == "ltm/rule" else ctx.spec(user.key.type).word
        return errors.in_use("value list", obj.key.path, word, user.key.as_parent.replace(SEPARATOR, " "))


def _listed(records: Any) -> list[Mapping[str, Any]]:
    if not records or records == "none":
        return []
    if isinstance(records, Mapping):
        records = [{"name": name, **(value or {})} for name, value in records.items()]
    if not isinstance(records, list):
        raise errors.invalid_value("records", records)
    listed = [{"name": record} if isinstance(record, str | int) else record for record in records]
    if not all(isinstance(record, Mapping) for record in listed):
        raise errors.invalid_value("records", records)
    return listed


def _record(kind: str, path: str, record: Mapping[str, Any]) -> Record:
    unknown = set(record) - {"name", "data", "partition"}
    if unknown:
        raise errors.unknown_property(sorted(unknown)[0])
    name, data = record.get("name"), record.get("data")
    if name is None or isinstance(name, list | dict | bool) or str(name) == "":
        raise errors.missing_property("name")
    if isinstance(data, list | dict | bool):
        raise errors.invalid_value("data", data)
    texts = {"name": str(name), "data": str(data if data is not None else "")}
    for attribute, text in texts.items():
        size = len(text.encode())
        if size > STRING_BYTES_MAX:
            said = (
                f"Max string size exceeded during update of attribute:{attribute} type:class_value_item "
                f"max:{STRING_BYTES_MAX} received:{size}"
            )
            raise errors.mcpd(400, "01070712", said)
    return {"name": _read(kind, path, texts["name"]), "data": texts["data"]}


def _read(kind: str, path: str, name: str) -> str:
    read, _ = KINDS[kind]
    try:
        return read(name)
    except ValueError as error:
        text = f"Data group ({path}) of type {kind} has an invalid record ({name[:200]})"
        raise errors.configuration_error(text) from error


def _network(text: str) -> str:
    """An address or network in the form that a device shows: with a prefix length, and its route domain if it has one.

    Raises ValueError, also for bits beyond the mask.
    """
    host, slash, length = text.partition("/")
    host, percent, domain = host.partition("%")
    if percent and not domain.isdigit():
        raise ValueError(text)
    network = ipaddress.ip_network(f"{host}{slash}{length}")
    return f"{network.network_address}{percent}{domain}/{network.prefixlen}"


def _integer(text: str) -> str:
    number = int(text, 0) if text.lower().startswith(("0x", "-0x")) else int(text)
    if abs(number) > INTEGER_MAX:
        raise ValueError(text)
    return str(number)


def _network_order(name: str) -> tuple[int, int, int, str]:
    host, _, length = name.partition("/")
    address = ipaddress.ip_address(host.partition("%")[0])
    return address.version, int(address), int(length), name


KINDS: Mapping[str, tuple[Callable[[str], str], Callable[[str], Any]]] = {
    "string": (str, str),
    "ip": (_network, _network_order),
    "integer": (_integer, int),
}
"""Type -> how a record's name is read, and how records are ordered."""


# -- `options=records add { … }`

_WORD = r'"(?:\\.|[^"\\])*"|[^\s{}"]+'
_RECORD = re.compile(rf"\s*({_WORD})\s*(?:\{{\s*(?:data\s+({_WORD})\s*)?\}})?\s*")
_COMMAND = re.compile(r"records\s+(add|modify|delete|replace-all-with)\s*\{(.*)\}|records\s+none", re.DOTALL)


def edited(text: str, group: Obj) -> list[Record]:
    """The records of a data group after tmsh's command, such as `records add { a { data 1 } }`."""
    key, current = group.key, group.props.get("records") or []
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        raise _unexpected(text)
    action, inside = match.groups()
    records = {} if action in (None, "replace-all-with") else {record["name"]: record for record in current}
    at, inside = 0, inside or ""
    while at < len(inside) and inside[at:].strip():
        found = _RECORD.match(inside, at)
        if found is None:
            raise _unexpected(inside[at:])
        name = _read(str(group.props.get("type")), key.path, _unquoted(found[1]))
        _edit(records, str(action), name, _unquoted(found[2] or ""), key)
        at = found.end()
    return list(records.values())


def _unexpected(text: str) -> IControlError:
    return errors.IControlError(400, f'"{text.strip()[:200]}" unexpected argument', errors.INVALID_VALUE_ERROR)


def _unquoted(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word[1:-1]) if word[:1] == '"' else word


def _edit(records: dict[str, Record], action: str, name: str, data: str, key: Key) -> None:
    if action == "add" and name in records:
        raise errors.already_exists("class string item", f"{key.path} {name}", "")
    if action in ("modify", "delete") and name not in records:
        raise errors.not_found("class string item", f"{key.path} {name}")
    if action == "delete":
        del records[name]
    else:
        records[name] = {"name": name, "data": data}
