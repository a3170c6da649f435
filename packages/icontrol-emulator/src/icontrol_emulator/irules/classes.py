"""`class`: commands for data groups, as in F5's reference."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field

from icontrol_emulator.irules.expressions import Failed, matches_regex
from icontrol_emulator.irules.interpreter import Interpreter, glob, joined
from icontrol_emulator.irules.state import DataGroup

COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "equals": lambda left, right: left == right,
    "eq": lambda left, right: left == right,  # as iRules of F5's agent for OpenStack have it
    "contains": lambda left, right: right in left,
    "starts_with": str.startswith, "ends_with": str.endswith, "matches": lambda left, right: glob(right, left),
    "matches_glob": lambda left, right: glob(right, left), "matches_regex": matches_regex,
}  # fmt: skip
_SHOWN = ("-value", "-name", "-element", "-index")
_OPTIONS = frozenset({*_SHOWN, "-all", "-nocase", "--"})
SEARCHES_MAX = 100
Found = tuple[int, str, str]


@dataclass(slots=True)
class ClassCommand:
    """Bound to one connection; `group` finds a data group by name."""

    group: Callable[[str], DataGroup | None]
    _searches: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def __call__(self, tcl: Interpreter, words: list[str]) -> str:
        what, *rest = words
        run = getattr(self, f"_do_{what}", None)
        if run is None:
            raise Failed(f"bad option \"{what}\": must be anymore, donesearch, element, exists, get, lookup, match, "
                         "names, nextelement, search, size, startsearch, or type")  # fmt: skip
        options = []
        while rest and rest[0] in _OPTIONS:
            options.append(rest.pop(0))
            if options[-1] == "--":
                break
        result: str = run(options, rest)
        return result

    def _named(self, name: str) -> DataGroup:
        found = self.group(name)
        if found is None:
            raise Failed(f"Could not find value_list {name}")
        return found

    def _do_match(self, options: list[str], words: list[str]) -> str:
        item, operator, name = words
        return self._compared(options, name, operator, lambda like, record: like(item, record), item)

    def _do_search(self, options: list[str], words: list[str]) -> str:
        name, operator, item = words
        return self._compared(options, name, operator, lambda like, record: like(record, item), item)

    def _compared(
        self, options: list[str], name: str, operator: str,
        fits: Callable[[Callable[[str, str], bool], str], bool], item: str,
    ) -> str:  # fmt: skip
        group = self._named(name)
        like = COMPARISONS.get(operator)
        if like is None:
            raise Failed(f'bad operator "{operator}"')
        if group.kind == "ip":
            found = _addresses(group, item)
        elif group.kind == "integer":
            found = [each for each in _listed(group) if _same_number(each[1], item)]
        else:
            found = [each for each in _listed(group) if fits(like, each[1])]
        return _shown(options, found)

    def _do_lookup(self, options: list[str], words: list[str]) -> str:
        item, name = words
        return self._compared(["-value"], name, "equals", lambda like, record: like(item, record), item)

    def _do_exists(self, options: list[str], words: list[str]) -> str:
        return str(int(self.group(words[0]) is not None))

    def _do_size(self, options: list[str], words: list[str]) -> str:
        return str(len(self._named(words[0]).records))

    def _do_type(self, options: list[str], words: list[str]) -> str:
        return {"string": "string", "ip": "ip", "integer": "value"}[self._named(words[0]).kind]

    def _do_names(self, options: list[str], words: list[str]) -> str:
        return joined([name for name, _ in self._like(options, words)])

    def _do_get(self, options: list[str], words: list[str]) -> str:
        return joined([joined([name, value]) for name, value in self._like(options, words)])

    def _like(self, options: list[str], words: list[str]) -> list[tuple[str, str]]:
        pattern = words[1] if len(words) > 1 else "*"
        fold = str.lower if "-nocase" in options else str
        records = self._named(words[0]).records
        return [(name, value) for name, value in records.items() if glob(fold(pattern), fold(name))]

    def _do_element(self, options: list[str], words: list[str]) -> str:
        at, name = int(words[0]), words[1]
        found = _listed(self._named(name))
        return _shown(options or ["-element"], found[at : at + 1]) if at >= 0 else ""

    def _do_startsearch(self, options: list[str], words: list[str]) -> str:
        if len(self._searches) >= SEARCHES_MAX:
            raise Failed("too many searches")
        number = f"s-{len(self._searches) + 1}-{words[0]}"
        self._searches[number] = list(self._named(words[0]).records.items())
        return number

    def _do_nextelement(self, options: list[str], words: list[str]) -> str:
        left = self._searches.get(words[1])
        if left is None:
            raise Failed(f'couldn\'t find search "{words[1]}"')
        return _shown(options or ["-element"], [(0, *left.pop(0))] if left else [])

    def _do_anymore(self, options: list[str], words: list[str]) -> str:
        return str(int(bool(self._searches.get(words[1]))))

    def _do_donesearch(self, options: list[str], words: list[str]) -> str:
        self._searches.pop(words[1], None)
        return ""


def _listed(group: DataGroup) -> list[Found]:
    return [(at, name, value) for at, (name, value) in enumerate(group.records.items())]


def _addresses(group: DataGroup, item: str) -> list[Found]:
    """The records that contain the address, the longest prefix first."""
    try:
        wanted = ipaddress.ip_interface(item.partition("%")[0]).ip
    except ValueError as error:
        raise Failed(f"bad IP address format ({item[:100]})") from error
    found = []
    for each in _listed(group):
        network = ipaddress.ip_network(each[1].partition("%")[0] if "/" not in each[1] else each[1], strict=False)
        if wanted.version == network.version and wanted in network:
            found.append((network.prefixlen, each))
    return [each for _, each in sorted(found, key=lambda pair: -pair[0])]


def _same_number(name: str, item: str) -> bool:
    try:
        return int(name) == int(item, 0)
    except ValueError as error:
        raise Failed(f'expected integer but got "{item[:100]}"') from error


def _shown(options: list[str], found: list[Found]) -> str:
    how = next((option for option in _SHOWN if option in options), "")
    show: dict[str, Callable[[Found], str]] = {
        "-value": lambda each: each[2], "-name": lambda each: each[1], "-index": lambda each: str(each[0]),
        "-element": lambda each: joined([each[1], each[2]]),
    }  # fmt: skip
    if not how:
        return str(len(found)) if "-all" in options else str(int(bool(found)))
    if "-all" in options:
        return joined([show[how](each) for each in found])
    return show[how](found[0]) if found else "-1" if how == "-index" else ""
