"""Dynamic routing and rules for HTML: objects that are kept, but route and rewrite nothing.

Paths and subcollections as recorded in CiscoTestAutomation/genieparser and in the tests of F5Networks/f5-declarative-
onboarding; properties that a table does not list are accepted.
"""

from __future__ import annotations

from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Scope, TypeSpec
from icontrol_emulator.config.types.tables import open_type

_ROUTING = "net/routing"


def _with_entries(name: str) -> list[TypeSpec]:
    path = f"{_ROUTING}/{name}"
    whole = TypeSpec(
        path=path, word=name.replace("-", " "), rules=BuiltInRules(), defaults={"routeDomain": "/Common/0"},
        open=True, subs=("entries",),
    )  # fmt: skip
    entries = TypeSpec(
        path=f"{path}/entries", word=f"{name} entry", owner=path, scope=Scope.FLAT, rules=BuiltInRules(), open=True,
    )  # fmt: skip
    return [whole, entries]


_LISTS = ("access-list", "as-path", "community-list", "extcommunity-list", "prefix-list", "route-map")
_HTML_RULES = (
    "comment-raise-event", "comment-remove", "tag-append-html", "tag-prepend-html", "tag-raise-event", "tag-remove",
    "tag-remove-attribute",
)  # fmt: skip

SPECS = [
    *(spec for name in _LISTS for spec in _with_entries(name)),
    open_type(f"{_ROUTING}/bgp", "BGP instance"),
    open_type(f"{_ROUTING}/bfd", "BFD instance"),
    open_type(f"{_ROUTING}/debug"),
    *(open_type(f"ltm/html-rule/{name}", "HTML rule", family="ltm/html-rule") for name in _HTML_RULES),
]
