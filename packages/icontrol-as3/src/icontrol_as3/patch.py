"""JSON patches (RFC 6902) of the stored declaration, but for `test`, which AS3 refuses too."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from icontrol_as3.errors import Refused

OPERATIONS = ("add", "copy", "move", "remove", "replace")
OPERATIONS_MAX = 1000
_END = "-"


def patched(document: Mapping[str, Any], operations: Any) -> dict[str, Any]:
    """The document after all operations; raises `Refused` for one that cannot be carried out."""
    changed = copy.deepcopy(dict(document))
    for operation in checked(operations):
        _carry_out(changed, operation)
    return changed


def checked(operations: Any) -> list[dict[str, Any]]:
    """The operations of a patch, each with a path and what its kind needs."""
    listed = operations if isinstance(operations, list) else [operations]
    if len(listed) > OPERATIONS_MAX:
        raise Refused(422, f"invalid patch - it has more than {OPERATIONS_MAX} operations")
    for each in listed:
        if not isinstance(each, dict) or not str(each.get("path", "")).startswith("/"):
            raise Refused(400, "invalid patch body - refer to AS3 docs for correct syntax.")
        if each.get("op") not in OPERATIONS:
            raise Refused(422, f"invalid patch - op '{each.get('op')}' is not supported")
        if each["op"] in ("add", "replace") and "value" not in each:
            raise Refused(422, f"invalid patch - op '{each['op']}' at {each['path']} needs a value")
        if each["op"] in ("copy", "move") and not str(each.get("from", "")).startswith("/"):
            raise Refused(422, f"invalid patch - op '{each['op']}' at {each['path']} needs from")
        if each["path"] == "/updateMode" and each.get("value") != "selective":
            raise Refused(422, "invalid patch - updateMode value can only be 'selective'")
    return listed


def tenants_of(operations: list[dict[str, Any]]) -> list[str]:
    """Names of the tenants that a patch changes, in order."""
    return list(dict.fromkeys(each["path"].split("/")[1] for each in operations))


def _carry_out(document: dict[str, Any], operation: Mapping[str, Any]) -> None:
    kind, path = operation["op"], str(operation["path"])
    if kind == "remove":
        _remove(document, path)
    elif kind == "replace":
        _remove(document, path)
        _add(document, path, operation["value"])
    elif kind == "add":
        _add(document, path, operation["value"])
    else:
        value = copy.deepcopy(_get(document, operation["from"]))
        if kind == "move":
            _remove(document, operation["from"])
        _add(document, path, value)


def _pieces(path: str) -> list[str]:
    return [piece.replace("~1", "/").replace("~0", "~") for piece in path.split("/")[1:]]


def _missing(path: str) -> Refused:
    return Refused(422, f"InvalidPatchOperationError: path does not exist: {path}")


def _index(place: list[Any], piece: str, path: str, most: int) -> int:
    if not piece.isdigit() or len(piece) > 9 or int(piece) > most:
        raise _missing(path)
    return int(piece)


def _step(place: Any, piece: str, path: str) -> Any:
    if isinstance(place, dict) and piece in place:
        return place[piece]
    if isinstance(place, list):
        return place[_index(place, piece, path, len(place) - 1)]
    raise _missing(path)


def _get(document: Any, path: str) -> Any:
    place = document
    for piece in _pieces(path):
        place = _step(place, piece, path)
    return place


def _parent(document: Any, path: str) -> tuple[Any, str]:
    *above, last = _pieces(path)
    place = document
    for piece in above:
        place = _step(place, piece, path)
    return place, last


def _add(document: Any, path: str, value: Any) -> None:
    place, last = _parent(document, path)
    if isinstance(place, dict):
        place[last] = value
    elif isinstance(place, list):
        place.insert(len(place) if last == _END else _index(place, last, path, len(place)), value)
    else:
        raise _missing(path)


def _remove(document: Any, path: str) -> None:
    place, last = _parent(document, path)
    _step(place, last, path)
    del place[int(last) if isinstance(place, list) else last]
