"""Rate limits of a listener as parts of its iRule.

Each counter is an entry of the device's session table for each key, which ends an interval after the key's
first request. A request is counted by all counters before any limit judges it; refused requests count, too.
Bytes are those of the client's connection, counted with its next request, and when it ends.
"""

from collections.abc import Iterator, Mapping, Sequence

from evenkeel.core.devices.rate_limits import Counter
from evenkeel.core.devices.service import ServiceListener
from evenkeel.devices.bigip.naming import plain_or_digest
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart
from evenkeel.devices.bigip.render.services.responses import RuleResponses
from evenkeel.devices.bigip.render.services.texts import RuleTexts
from evenkeel.devices.rate_limits import ClientLimit, Condition, action_command, conditions_by_counter

_ACTIONS = {"REJECT": "reject", "SILENT_DROP": "drop"}
Conditions = Mapping[Counter, Sequence[Condition]]
_CLIENT_ADDRESS = "[IP::client_addr]"
_BYTES_SO_FAR = "[expr { [IP::stats bytes in] + [IP::stats bytes out] }]"


def rate_limit_lines(
    listener: ServiceListener, limits: Sequence[ClientLimit], responses: RuleResponses
) -> Iterator[str]:
    """Yield lines of the iRule's event ``HTTP_REQUEST`` that count the request, and refuse it if it exceeds a
    limit; texts that the lines use are stored in ``responses.texts``. Raises :class:`Unrenderable` for an
    action that a BIG-IP does not have.
    """
    conditions, texts = conditions_by_counter(limits), responses.texts
    for number, (counter, found) in enumerate(conditions.items()):
        if any(not condition.of_bytes for condition in found):
            yield from _request_count_lines(listener, counter, number, found, texts)
        if any(condition.of_bytes for condition in found):
            yield from _byte_count_lines(listener, counter)
            yield f"    set service_bytes_{number} $service_bytes"
    if any(condition.of_bytes for found in conditions.values() for condition in found):
        yield "    set service_carried $service_total"
    numbers = {counter: number for number, counter in enumerate(conditions)}
    for limit in limits:
        met = " && ".join(
            _condition_expression(condition, numbers[condition.counter], texts) for condition in limit.conditions
        )
        yield f"    if {{ {met} }} {{"
        yield f"        {_limit_action(limit, responses)}"
        yield "        return"
        yield "    }"


def byte_counting_parts(listener: ServiceListener, limits: Sequence[ClientLimit]) -> Iterator[RulePart]:
    """Yield parts of the iRule that count the bytes which a connection carried after its last request;
    nothing if no limit counts bytes.
    """
    counters = [
        counter
        for counter, found in conditions_by_counter(limits).items()
        if any(condition.of_bytes for condition in found)
    ]
    if counters:
        begins = ("    set service_carried 0",)
        yield RulePart(event="CLIENT_ACCEPTED", order=Order.ADMISSION, lines=begins)
        ends = [line for counter in counters for line in _byte_count_lines(listener, counter)]
        lines = ("    if { [info exists service_carried] } {", *(f"    {line}" for line in ends), "    }")
        yield RulePart(event="CLIENT_CLOSED", order=Order.ADMISSION, lines=lines)


def _request_count_lines(
    listener: ServiceListener, counter: Counter, number: int, conditions: Sequence[Condition], texts: RuleTexts
) -> Iterator[str]:
    name = f"rate:{plain_or_digest(listener.id)}:{counter.key}.{counter.interval}"
    if counter.key == "client":
        yield from _count_lines(f"{name}:{_CLIENT_ADDRESS}", counter, number)
        return
    yield f"    set service_rate_{number} 0"
    if counter.key == "url":
        urls = sorted({url for condition in conditions for url in condition.urls})
        yield "    set service_path [URI::decode [HTTP::path]]"
        yield f"    if {{ {_path_match_expression(urls, texts)} }} {{"
        yield "        binary scan [sha256 $service_path] H* service_key"
        inner = _count_lines(f"{name}:{_CLIENT_ADDRESS}:$service_key", counter, number)
    else:
        source = "header" if counter.key == "header" else "cookie"
        yield f"    set service_key [HTTP::{source} value {texts.tcl_word(counter.name)}]"
        yield '    if { $service_key ne "" } {'
        # a digest, because a client chooses what the key is and how long
        yield "        binary scan [sha256 $service_key] H* service_key"
        inner = _count_lines(f"{name}:$service_key", counter, number)
    yield from (f"    {line}" for line in inner)
    yield "    }"


def _count_lines(key: str, counter: Counter, number: int) -> Iterator[str]:
    yield f'    set service_key "{key}"'
    yield f"    table add $service_key 0 indefinite {counter.interval}"
    yield f"    set service_rate_{number} [table incr -notouch $service_key]"


def _byte_count_lines(listener: ServiceListener, counter: Counter) -> Iterator[str]:
    yield f"    set service_total {_BYTES_SO_FAR}"
    yield f'    set service_key "bytes:{plain_or_digest(listener.id)}:{counter.interval}:{_CLIENT_ADDRESS}"'
    yield f"    table add $service_key 0 indefinite {counter.interval}"
    yield "    set service_bytes [table incr -notouch $service_key [expr { $service_total - $service_carried }]]"


def _condition_expression(condition: Condition, number: int, texts: RuleTexts) -> str:
    if condition.of_bytes:
        return f"$service_bytes_{number} > {condition.threshold}"
    judged = f"$service_rate_{number} > {condition.threshold}"
    return f"({_path_match_expression(condition.urls, texts)}) && {judged}" if condition.urls else judged


def _path_match_expression(urls: Sequence[str], texts: RuleTexts) -> str:
    return " || ".join(f"$service_path eq {texts.tcl_word(url)}" for url in urls)


def _limit_action(limit: ClientLimit, responses: RuleResponses) -> str:
    if limit.action == "DENY":
        return responses.respond_command(limit.status, '"Retry-After"', str(limit.retry_after))
    return action_command(limit, _ACTIONS)
