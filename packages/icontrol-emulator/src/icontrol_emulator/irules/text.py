"""Commands for texts that F5 adds to Tcl: `findstr`, `getfield`, `substr`, `domain`, `URI::…`."""

from __future__ import annotations

from urllib.parse import quote, unquote, urlsplit

from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Do, Interpreter


def _findstr(tcl: Interpreter, words: list[str]) -> str:
    """`findstr TEXT SOUGHT [SKIP [LENGTH|TERMINATOR]]`."""
    text, sought = words[:2]
    at = text.find(sought)
    if at < 0:
        return ""
    rest = text[at + (int(words[2]) if len(words) > 2 else 0) :]
    if len(words) < 4:
        return rest
    return rest[: int(words[3])] if words[3].isdigit() else rest.partition(words[3])[0]


def _getfield(tcl: Interpreter, words: list[str]) -> str:
    """`getfield TEXT SEPARATOR NUMBER`, counted from 1."""
    found = words[0].split(words[1])
    return found[int(words[2]) - 1] if 0 < int(words[2]) <= len(found) else ""


def _substr(tcl: Interpreter, words: list[str]) -> str:
    """`substr TEXT SKIP [LENGTH|TERMINATOR]`."""
    rest = words[0][int(words[1]) :]
    if len(words) < 3:
        return rest
    return rest[: int(words[2])] if words[2].isdigit() else rest.partition(words[2])[0]


def _domain(tcl: Interpreter, words: list[str]) -> str:
    """`domain NAME COUNT`: the last labels of a name."""
    return ".".join(words[0].split(".")[-int(words[1]) :]) if int(words[1]) > 0 else ""


def _query(tcl: Interpreter, words: list[str]) -> str:
    """`URI::query URI [PARAMETER]`."""
    query = words[0].partition("?")[2]
    if len(words) == 1:
        return query
    pairs = (pair.partition("=") for pair in query.split("&"))
    return next((value for name, _, value in pairs if name == words[1]), "")


def _path(tcl: Interpreter, words: list[str]) -> str:
    """`URI::path URI [START [END]]`: the directories, with their depth counted from 1; `depth` counts them."""
    directories = _address(words[0]).rpartition("/")[0].split("/")[1:]
    if len(words) == 1:
        return f"/{'/'.join(directories)}/" if directories != [] else "/"
    if words[1] == "depth":
        return str(len(directories))
    last = int(words[2]) if len(words) > 2 else len(directories)
    found = directories[int(words[1]) - 1 : last]
    return f"/{'/'.join(found)}/" if found else "/"


def _address(uri: str) -> str:
    """The path of a URI with or without scheme and host."""
    return urlsplit(uri).path if "://" in uri else uri.partition("?")[0]


def _compare(tcl: Interpreter, words: list[str]) -> str:
    return str(int(unquote(words[0]) == unquote(words[1])))


def _part(name: str) -> Do:
    def do(tcl: Interpreter, words: list[str]) -> str:
        url = urlsplit(words[0])
        try:
            port = str(url.port or {"http": 80, "https": 443}.get(url.scheme, 0))
        except ValueError as error:
            raise Failed(f"bad port in {words[0][:100]}") from error
        return {"protocol": url.scheme, "host": url.hostname or "", "port": port}[name]

    return do


TEXTS: dict[str, Do] = {
    "findstr": _findstr, "getfield": _getfield, "substr": _substr, "domain": _domain,
    "URI::encode": lambda tcl, words: quote(words[0], safe=""),
    "URI::decode": lambda tcl, words: unquote(words[0]),
    "URI::query": _query, "URI::path": _path, "URI::compare": _compare,
    "URI::basename": lambda tcl, words: _address(words[0]).rpartition("/")[2],
    "URI::protocol": _part("protocol"), "URI::host": _part("host"), "URI::port": _part("port"),
}  # fmt: skip
