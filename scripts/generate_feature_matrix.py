"""Writes docs/reference/features.md from the capability tables of the device drivers; ``--check`` only compares."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import get_args

from evenkeel.cmd.controllers.capabilities import load_capabilities
from evenkeel.config.esd.parts import PARTS
from evenkeel.core.devices.capabilities import (
    INSERT_HEADERS,
    LISTENER_DEFAULTS,
    MEMBER_DEFAULTS,
    OPTIONS,
    PERSISTENCE_DEFAULTS,
    POOL_DEFAULTS,
    TLS_INSERT_HEADERS,
    Capabilities,
)
from evenkeel.core.resources.model import (
    POOL_PROTOCOLS_OF_LISTENER,
    HealthMonitorType,
    L7PolicyAction,
    L7RuleType,
    LbAlgorithm,
    PersistenceType,
    RateLimitAction,
    RateLimitMetric,
    TlsVersion,
)

TARGET = Path(__file__).parent.parent / "docs" / "reference" / "features.md"
HEAD = """# What each device type can do

The API refuses with 501 what the provider's device type does not support, naming field, value and what is allowed.
`evenkeel provider capabilities NAME` and `GET /v2/lbaas/providers/{name}/capabilities` show a provider's table.
`noop`, which configures nothing, and drivers without a table accept everything but enhanced services.
`scripts/generate_feature_matrix.py` generates this page from `src/evenkeel/devices/*/capabilities.py`.
"""
NOT_SHOWN = ("noop",)
"""Drivers that accept everything."""
DEFAULTS = {
    **{f"listener.{name}": value for name, value in LISTENER_DEFAULTS.items()},
    **{f"pool.{name}": value for name, value in POOL_DEFAULTS.items()},
    **{f"session_persistence.{name}": value for name, value in PERSISTENCE_DEFAULTS.items()},
    **{f"member.{name}": value for name, value in MEMBER_DEFAULTS.items()},
}
Cell = Callable[[Capabilities], str]


def yes(possible: object) -> str:
    """A cell that says whether."""
    return "yes" if possible else "–"


def pairs() -> Iterable[tuple[str, Cell]]:
    """Which pools a listener may send to; one that has none by itself."""
    for listener, pools in POOL_PROTOCOLS_OF_LISTENER.items():
        if not pools:
            yield f"{listener}, by itself", lambda table, listener=listener: yes(listener in table.protocol_pairs)
        for pool in sorted(pools):
            yield (
                f"{listener} → {pool}",
                lambda table, listener=listener, pool=pool: yes(pool in table.protocol_pairs.get(listener, ())),
            )


def in_pools(name: str, possible: Sequence[str], by_pool: Mapping[str, Sequence[str]]) -> str:
    """Whether something is possible, and in which pools, that have fewer, it is not."""
    without = [pool for pool, fewer in by_pool.items() if name not in fewer]
    return f"not in {', '.join(without)} pools" if name in possible and without else yes(name in possible)


def algorithms() -> Iterable[tuple[str, Cell]]:
    """Each algorithm, and in which pools it is not possible."""
    for name in get_args(LbAlgorithm):

        def cell(table: Capabilities, name: str = name) -> str:
            return in_pools(name, table.lb_algorithms, table.pool_algorithms)

        yield name, cell


def persistence() -> Iterable[tuple[str, Cell]]:
    """Each type, and behind which listeners."""
    for type_ in get_args(PersistenceType):

        def cell(table: Capabilities, type_: str = type_) -> str:
            behind = table.session_persistence.get(type_, ())
            everywhere = set(behind) >= table.protocol_pairs.keys()
            return yes(behind) if everywhere or not behind else f"behind {', '.join(behind)} listeners"

        yield type_, cell


def monitors() -> Iterable[tuple[str, Cell]]:
    """Each type, then the bounds that are narrower than the API's."""
    for type_ in get_args(HealthMonitorType):

        def possible(table: Capabilities, type_: str = type_) -> str:
            return in_pools(type_, table.health_monitor_types, table.pool_monitors)

        yield type_, possible
    for name in ("delay", "timeout"):

        def cell(table: Capabilities, name: str = name) -> str:
            least, greatest = table.health_monitor_ranges.get(name, (0, None))
            return f"from {least} s" if greatest is None else f"{least} to {greatest} s"

        yield f"`{name}`", cell


def headers() -> Iterable[tuple[str, Cell]]:
    """Each header, and which exclude each other."""
    for name in (*INSERT_HEADERS, *TLS_INSERT_HEADERS):

        def cell(table: Capabilities, name: str = name) -> str:
            others = [other for group in table.exclusive_headers if name in group for other in group if other != name]
            if name not in table.insert_headers or not others:
                return yes(name in table.insert_headers)
            return f"not with {', '.join(others)}"

        yield name, cell


def l7_rules() -> Iterable[tuple[str, Cell]]:
    """Each type, and what not every device type compares with."""
    for name in get_args(L7RuleType):
        yield name, lambda table, name=name: yes(name in table.l7rule_types)
    yield "REGEX with look-ahead", lambda table: yes(bool(table.l7rule_types) and table.pattern_limits.look_ahead)


def tls_versions() -> Iterable[tuple[str, Cell]]:
    """Each version, where TLS is possible at all."""

    def possible(table: Capabilities) -> bool:
        return bool({"listener.tls_versions", "pool.tls_versions"} & set(table.options))

    for version in get_args(TlsVersion):
        yield version, lambda table, version=version: yes(possible(table) and version in table.tls_versions)
    yield "with one left out between two others", lambda table: yes(possible(table) and table.tls_version_gaps)


def options() -> Iterable[tuple[str, Cell]]:
    """Each attribute that not every device type can do."""
    yield "members that are VIPs of the same devices", lambda table: yes(table.chaining)

    def other_version(table: Capabilities) -> str:
        without = ", ".join(table.vip_version_pools)
        return f"not in {without} pools" if without else "yes"

    yield "members of another IP version than all VIPs", other_version
    for option in OPTIONS:

        def cell(table: Capabilities, option: str = option) -> str:
            if option not in table.options:
                default = DEFAULTS.get(option)
                return f"only {default}" if isinstance(default, int) and default is not False else "–"
            refused = ", ".join(map(str, table.refused_values.get(option, ())))
            name = option.rpartition(".")[2]
            fixed = ", ".join(protocol for protocol, names in table.fixed_attributes.items() if name in names)
            exceptions = " or ".join((*([refused] if refused else []), *([f"with {fixed}"] if fixed else [])))
            return f"yes, but not {exceptions}" if exceptions else "yes"

        kind, _, name = option.partition(".")
        yield f"`{name}` of a {kind.replace('_', ' ')}", cell


def enhanced_services() -> Iterable[tuple[str, Cell]]:
    """F5's tags, then each part."""
    yield "F5's tags (`lbaas_…`)", lambda table: yes(table.service_tags)
    for part in PARTS:

        def cell(table: Capabilities, part: str = part) -> str:
            settings = ", ".join(f"`{name}`" for name in table.service_settings.get(part, ()))
            return f"only {settings}" if settings else yes(part in table.service_parts)

        yield f"`{part}`", cell


def rate_limits() -> Iterable[tuple[str, Cell]]:
    """Listeners, metrics and actions of rate limit policies; the most different counters of one listener."""
    for protocol in POOL_PROTOCOLS_OF_LISTENER:
        yield f"listener {protocol}", lambda table, name=protocol: yes(name in table.rate_limits.protocols)
    for metric in get_args(RateLimitMetric):
        yield f"`metric` {metric}", lambda table, name=metric: yes(name in table.rate_limits.metrics)
    for action in get_args(RateLimitAction):
        yield f"`action` {action}", lambda table, name=action: yes(name in table.rate_limits.actions)
    yield "different counters of a listener", lambda table: str(table.rate_limits.counters_max or "any number")


SECTIONS: list[tuple[str, str, Callable[[], Iterable[tuple[str, Cell]]]]] = [
    ("Protocols", "listener → pool", pairs),
    (
        "Load-balancing algorithms",
        "`lb_algorithm`",
        algorithms,
    ),
    ("Session persistence", "`session_persistence`", persistence),
    ("Health monitors", "`type`", monitors),
    ("Headers", "`insert_headers`", headers),
    (
        "L7 policies",
        "`action`",
        lambda: (
            (name, lambda table, name=name: yes(name in table.l7policy_actions)) for name in get_args(L7PolicyAction)
        ),
    ),
    (
        "L7 rules",
        "`type`",
        l7_rules,
    ),
    ("Rate limits", "of `ratelimitpolicies`", rate_limits),
    ("TLS versions", "`tls_versions`", tls_versions),
    ("Attributes", "attribute", options),
    (
        "Enhanced services",
        "defined by operators, chosen by tenants",
        enhanced_services,
    ),
]


def enumerated(names: Sequence[str]) -> str:
    """The names in one sentence; consecutive names share a beginning `… → ` or an ending ` of …`."""
    groups = [list(group) for _, group in groupby(names, key=lambda name: (beginning(name), ending(name)))]
    return "; ".join(map(together, groups))


def beginning(name: str) -> str:
    """The part of a pair of protocols that names the listener; empty: the name is no pair."""
    return "".join(name.partition(" → ")[:2]) if " → " in name else ""


def ending(name: str) -> str:
    """The end of an attribute's name that names its object; empty: it has none."""
    return "".join(name.partition(" of ")[1:])


def together(group: Sequence[str]) -> str:
    """Names of one group, with what they share once."""
    head, tail = beginning(group[0]), ending(group[0])
    return head + ", ".join(name.removeprefix(head).removesuffix(tail) for name in group) + tail


def section(title: str, head: str, rows: Iterable[tuple[str, Cell]], tables: dict[str, Capabilities]) -> str:
    """One section of the page: what all drivers can do as a list, and a table of the rest."""
    cells = {name: [cell(table) for table in tables.values()] for name, cell in rows}
    everywhere = [name for name, row in cells.items() if set(row) == {"yes"}]
    text = f"\n## {title}\n\n"
    if everywhere:
        text += f"{' and '.join(tables)}: {enumerated(everywhere)}.\n"
    if len(everywhere) == len(cells):
        return text
    lines = [f"| {head} | {' | '.join(tables)} |", "|---" * (len(tables) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(row)} |" for name, row in cells.items() if name not in everywhere]
    return text + ("\n" if everywhere else "") + "\n".join(lines) + "\n"


def page() -> str:
    """The whole page."""
    tables = {name: table for name, table in sorted(load_capabilities().items()) if name not in NOT_SHOWN}
    return HEAD + "".join(section(title, head, rows(), tables) for title, head, rows in SECTIONS)


def main() -> int:
    """Write or compare."""
    if "--check" in sys.argv:
        return 0 if TARGET.read_text() == page() else 1
    TARGET.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
