"""Rate limits of a listener as lines of its frontend, and stick tables. Pure.

Each counter is a stick table in a backend of its own, which is named after the counter, so that counts
survive changes of thresholds. A request is counted in all tables before any rule judges it; refused requests
count, too. Bytes of a request are counted when it ends. A client's address is looked up once for each
connection, and HAProxy counts each request in the entry that it found.

The tables are in the partition's ``peers`` section: counts survive reloads, and a pair shares them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from evenkeel.core.devices.rate_limits import Counter, counters_text
from evenkeel.core.kit.values import Value
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.naming import auxiliary_name, object_name
from evenkeel.devices.haproxy.render.quoting import quote_line
from evenkeel.devices.rate_limits import ClientLimit, Condition, action_command, conditions_by_counter
from evenkeel.haproxyd import wire

TABLE_ENTRIES = "100k"
"""Number of clients that one stick table counts at once; beyond it the oldest are forgotten."""
KEY_CHARACTERS_MAX = 128
"""Characters of a header or cookie that a rate limit distinguishes; longer values are counted by their hash."""
STICK_COUNTERS = ("sc0", "sc1", "sc2")
"""HAProxy's stick counters: one stream has three, unless HAProxy 2.6 is built with more."""
_PATH_SAMPLE = "var(txn.rate_path)"
_STORED_PATH = "http-request set-var(txn.rate_path) path,url_dec"
_TABLE_TYPES = {"client": "ipv6", "url": "binary len 20"}
"""{what a rate limit counts by: type of the stick table's key}; by anything else, such as a header, it is a string.
``client``: ipv6 holds clients of both IP versions, because HAProxy maps IPv4 addresses; ``url``: SHA-1 of client and
path.
"""


class RateLimitLines(Value):
    """Additions of rate limits to one listener's frontend. ``connection``: lines that run once a connection."""

    connection: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    files: tuple[wire.File, ...] = ()
    """ACL files with the paths of rules, so that a change of paths needs no reload."""
    tables: tuple[wire.Backend, ...] = ()


def rate_limit_lines(
    name: str, limits: Sequence[ClientLimit], slots: Sequence[str], pages: Mapping[int, tuple[str, ...]]
) -> RateLimitLines:
    """Return the lines, files and stick tables for rate limits of the frontend ``name``.

    ``slots``: free stick counters; ``pages``: arguments that send the body of a refusal, by status. Raises
    :class:`Unrenderable` if the limits need more counters than are free, or an action that HAProxy does not
    have.
    """
    conditions = conditions_by_counter(limits)
    if len(conditions) > len(slots):
        raise Unrenderable(
            f"listener {name}: rate limits with {len(conditions)} different counters ({counters_text(conditions)}),"
            f" enhanced services' included; {len(slots)} are possible here"
        )
    taken = dict(zip(conditions, slots, strict=False))
    files = {
        condition.id: wire.File(
            name=_urls_file(name, condition), kind="acl", content="".join(f"{url}\n" for url in condition.urls)
        )
        for found in conditions.values()
        for condition in found
        if condition.urls
    }
    return RateLimitLines(
        connection=tuple(
            f"tcp-request connection track-{slot} src table {_table_name(name, counter)}"
            for counter, slot in taken.items()
            if counter.key == "client"
        ),
        lines=(*_counting_lines(name, conditions, taken), *_limit_lines(name, limits, taken, pages)),
        files=tuple(files.values()),
        tables=tuple(_counter_table(name, counter, found) for counter, found in conditions.items()),
    )


def stick_table_line(kind: str, interval_seconds: int, stored: Iterable[str]) -> str:
    """Return the line that declares a stick table in the partition's ``peers`` section. ``kind``: type of the
    key; ``stored``: data of an entry, which expires after two intervals, at least 10 seconds.
    """
    # An entry outlives the interval in which it counts; one of an open connection never expires.
    expire = max(2 * interval_seconds, 10)
    return (
        f"stick-table type {kind} size {TABLE_ENTRIES} expire {expire}s store {','.join(stored)}"
        f" peers {wire.PEERS_SECTION}"
    )


def _table_name(name: str, counter: Counter) -> str:
    return auxiliary_name(name, f"rates.{counter.key}.{counter.interval}")


def _urls_file(name: str, condition: Condition) -> str:
    return auxiliary_name(name, f"urls.{object_name('rate limit rule', condition.id)}")


def _counter_table(name: str, counter: Counter, conditions: Iterable[Condition]) -> wire.Backend:
    of_bytes = {condition.of_bytes for condition in conditions}
    stored = [
        *([f"http_req_rate({counter.interval}s)"] if False in of_bytes else []),
        *([f"bytes_in_rate({counter.interval}s)", f"bytes_out_rate({counter.interval}s)"] if True in of_bytes else []),
    ]
    kind = _TABLE_TYPES.get(counter.key, f"string len {KEY_CHARACTERS_MAX}")
    return wire.Backend(
        name=_table_name(name, counter), lines=("mode http", stick_table_line(kind, counter.interval, stored))
    )


def _counting_lines(name: str, conditions: dict[Counter, list[Condition]], slots: dict[Counter, str]) -> Iterator[str]:
    if any(counter.key == "url" for counter in conditions):
        yield _STORED_PATH
    for counter, found in conditions.items():
        track, table = f"http-request track-{slots[counter]}", f"table {_table_name(name, counter)}"
        if counter.key == "url":
            files = " ".join(f"-f {_urls_file(name, condition)}" for condition in found)
            yield f"{track} src,concat(|,txn.rate_path),sha1 {table} if {{ {_PATH_SAMPLE} -m str {files} }}"
        elif counter.key != "client":
            key = f"req.{'hdr' if counter.key == 'header' else 'cook'}({counter.name})"
            # A value that is longer than a key of the table would be cut, and counted with others that begin alike.
            long = f"{{ {key} -m len gt {KEY_CHARACTERS_MAX} }}"
            yield f"{track} {key},sha2(256),hex {table} if {long}"
            yield f"{track} {key} {table} if {{ {key} -m found }} !{long}"
        if any(condition.of_bytes for condition in found):
            yield f"http-request set-var(txn.rate_bytes_{slots[counter]}) {slots[counter]}_bytes_in_rate"


def _limit_lines(
    name: str, limits: Iterable[ClientLimit], slots: dict[Counter, str], pages: Mapping[int, tuple[str, ...]]
) -> Iterator[str]:
    for limit in limits:
        conditions = " ".join(
            _condition_expression(name, condition, slots[condition.counter]) for condition in limit.conditions
        )
        yield f"{_limit_action(limit, pages)} if {conditions}"


def _limit_action(limit: ClientLimit, pages: Mapping[int, tuple[str, ...]]) -> str:
    if limit.action == "DENY":
        words = ("deny", "deny_status", str(limit.status), *pages.get(limit.status, ()))
        return quote_line("http-request", *words, "hdr", "Retry-After", str(limit.retry_after))
    return f"http-request {action_command(limit, _ACTIONS)}"


_ACTIONS = {"REJECT": "reject", "SILENT_DROP": "silent-drop"}


def _condition_expression(name: str, condition: Condition, slot: str) -> str:
    if condition.of_bytes:
        return f"{{ {slot}_bytes_out_rate,add(txn.rate_bytes_{slot}) gt {condition.threshold} }}"
    judged = f"{{ {slot}_http_req_rate gt {condition.threshold} }}"
    if condition.urls:
        return f"{{ {_PATH_SAMPLE} -m str -f {_urls_file(name, condition)} }} {judged}"
    return judged
