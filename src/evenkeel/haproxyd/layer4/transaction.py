"""nft's commands that bring the table from one content to another, as one transaction. Pure.

Order: elements that refer to chains go before the chains, chains before the sets that their rules use, and all come
back in the reverse order; otherwise the kernel refuses the whole transaction ("busy").
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from evenkeel.haproxyd.layer4.ruleset import FAMILIES, IP, Content

_KEY = "{family}_addr . inet_proto . inet_service"
SHARED = {"owned": "", "services": "verdict", "in": "counter", "out": "counter", "refresh": "verdict"}
"""Sets and maps that all partitions share, one of each family, with the type of their data."""
_SERVICE = "{ip} {address} . meta l4proto . th {port}"
_ORIGINAL = "meta l4proto udp ct status dnat{direction} ct original {ip} daddr . meta l4proto . ct original proto-dst"
BASE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    # every packet, before translation
    "count-in": (
        "type filter hook prerouting priority -150;",
        ("counter name {ip} daddr . meta l4proto . th dport map @in{family}",),
    ),
    # the first packet of a flow only, from other hosts and from this one
    "dispatch": (
        "type nat hook prerouting priority -100;",
        ("{ip} daddr . meta l4proto . th dport vmap @services{family}",),
    ),
    "dispatch-local": (
        "type nat hook output priority -100;",
        ("{ip} daddr . meta l4proto . th dport vmap @services{family}",),
    ),
    # What was not translated is refused, and leaves no entry in the connection table that would pin this client's port
    # to "not translated" for as long as it sends.
    "guard": (
        "type filter hook prerouting priority -90;",
        ("{ip} daddr . meta l4proto . th dport @owned{family} ct state new reject",),
    ),
    "guard-local": (
        "type filter hook output priority 0;",
        ("{ip} daddr . meta l4proto . th dport @owned{family} ct state new reject",),
    ),
    # a long flow keeps its client bound to the server
    "renew": (
        "type filter hook forward priority 0;",
        (_ORIGINAL.replace("{direction}", " ct direction original") + " vmap @refresh{family}",),
    ),
    # Members answer to this host. The rule also makes the kernel keep translating live flows, whatever else goes.
    "source": (
        "type nat hook postrouting priority 100;",
        (_ORIGINAL.replace("{direction}", "") + " @owned{family} masquerade",),
    ),
    # every answer, after its source was translated back
    "count-out": (
        "type filter hook postrouting priority 150;",
        ("counter name {ip} saddr . meta l4proto . th sport map @out{family}",),
    ),
}
"""Base chains with their rules, each once per family."""


def base_rules(name: str) -> tuple[str, ...]:
    """The rules of a base chain."""
    return tuple(rule.format(ip=IP[family], family=family) for family in FAMILIES for rule in BASE[name][1])


def whole(table: str, contents: Collection[Content]) -> str:
    """A transaction that replaces the table by one with these contents, whatever it is now."""
    # created first, because what is not there cannot be deleted
    lines = [f"add table inet {table}", f"delete table inet {table}", f"add table inet {table}"]
    for name, data in SHARED.items():
        for family in FAMILIES:
            kind = f"map {table} {name}{family}" if data else f"set {table} {name}{family}"
            word, _, rest = kind.partition(" ")
            type_ = _KEY.format(family=f"ipv{family}") + (f" : {data}" if data else "")
            lines.append(f"add {word} inet {rest} {{ type {type_}; }}")
    for name, (hook, _) in BASE.items():
        lines.append(f"add chain inet {table} {name} {{ {hook} policy accept; }}")
        lines.extend(f"add rule inet {table} {name} {rule}" for rule in base_rules(name))
    return "\n".join((*lines, *_additions(table, [(Content(), content) for content in contents]), ""))


def change(table: str, steps: Collection[tuple[Content, Content]]) -> str:
    """A transaction that takes partitions' contents from the first to the second; empty if nothing differs."""
    lines = [*_removals(table, steps), *_additions(table, steps)]
    return "\n".join((*lines, "")) if lines else ""


Steps = Collection[tuple[Content, Content]]


def _removals(table: str, steps: Steps) -> Iterator[str]:
    for name, keys in _by_map(
        (key for old, new in steps for key, data in old.elements.items() if new.elements.get(key) != data)
    ):
        yield f"delete element inet {table} {name} {{ {', '.join(keys)} }}"
    for old, new in steps:
        for name, rules in old.chains.items():
            if new.chains.get(name) != rules:
                yield f"flush chain inet {table} {name}"
    for old, new in steps:
        yield from (f"delete chain inet {table} {name}" for name in old.chains if name not in new.chains)
        for name, declared in old.sets.items():
            if name not in new.sets:
                yield f"delete set inet {table} {name}"
            elif declared != new.sets[name]:
                yield f"flush set inet {table} {name}"
        yield from (f"delete counter inet {table} {name}" for name in sorted(old.counters - new.counters))


def _additions(table: str, steps: Steps) -> Iterator[str]:
    for old, new in steps:
        yield from (f"add counter inet {table} {name}" for name in sorted(new.counters - old.counters))
        for name, declared in new.sets.items():
            if name not in old.sets:
                yield f"add set inet {table} {name} {{ {declared.text} }}"
            if declared.elements and declared != old.sets.get(name):
                yield f"add element inet {table} {name} {{ {', '.join(declared.elements)} }}"
        yield from (f"add chain inet {table} {name}" for name in new.chains if name not in old.chains)
    for old, new in steps:
        for name, rules in new.chains.items():
            if old.chains.get(name) != rules:
                yield from (f"add rule inet {table} {name} {rule}" for rule in rules)
    added = (
        (name, f"{key} : {data}" if data else key)
        for old, new in steps
        for (name, key), data in new.elements.items()
        if old.elements.get((name, key)) != data
    )
    for name, texts in _by_map(added):
        yield f"add element inet {table} {name} {{ {', '.join(texts)} }}"


def _by_map(elements: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Elements by the set or map that holds them: one command for all elements of a map costs least."""
    found: dict[str, list[str]] = {}
    for name, text in elements:
        found.setdefault(name, []).append(text)
    yield from sorted(found.items())
