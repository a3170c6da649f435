"""Why an answer of ours differs: the first rule that knows it names a row of ``docs/reference/differences.md``."""

import json
import re
from collections.abc import Callable

from tests.compat.table import Answer, Line

_WHOLE = re.compile(
    r"field/attribute \w+\. Value: '\{'|unambiguous boolean|not a valid list|not a valid dict|invalid literal for int|"
    r"could not convert|unable to convert|Value: '\[|insert_headers$|l7rule_\.rule|Invalid TLS versions|"
    r"is not a valid option for flavor_data|Unknown argument:|one of: 1\.0, 1\.1"
)
_NULL = re.compile(r"\bNone\b|: null\b")


def _answers(line: Line) -> tuple[Answer, Answer]:
    assert line.expected is not None and line.ours is not None
    return line.expected, line.ours


def _text(answer: Answer) -> str:
    body = answer.body
    return str(body.get("faultstring", body.get("description", ""))) if isinstance(body, dict) else ""


def _octavias(line: Line) -> str:
    return _text(_answers(line)[0])


def _ours(line: Line) -> str:
    return _text(_answers(line)[1])


def _statuses(line: Line) -> tuple[int, int]:
    theirs, ours = _answers(line)
    return theirs.status, ours.status


def _sent(line: Line) -> str:
    return line.body if isinstance(line.body, str) else json.dumps(line.body)


def _says(text: str) -> Callable[[Line], bool]:
    """Our answer has this text."""
    return lambda line: text in _ours(line)


def _asks(pattern: str) -> Callable[[Line], bool]:
    """The request has this path."""
    return lambda line: re.search(pattern, f"{line.method} {line.path}") is not None


def _sends(pattern: str) -> Callable[[Line], bool]:
    """The request has this body."""
    return lambda line: re.search(pattern, _sent(line)) is not None


def _only_octavias(word: str) -> Callable[[Line], bool]:
    """Octavia's body has this word, ours has not."""
    return lambda line: word in str(_answers(line)[0].body) and word not in str(_answers(line)[1].body)


def _both(*conditions: Callable[[Line], bool]) -> Callable[[Line], bool]:
    return lambda line: all(condition(line) for condition in conditions)


def _told(status: int) -> Callable[[Line], bool]:
    return lambda line: _statuses(line)[1] == status


def _begins(text: str, other: str) -> bool:
    """Does the other text have all of this one, but for full stops and capitals?"""
    return text.lower().rstrip(".") in other.lower()


RULES: tuple[tuple[str, Callable[[Line], bool]], ...] = (
    ("a body that makes Octavia fail", lambda line: _statuses(line)[0] >= 500 or "object supplied" in _octavias(line)),
    ("who may not do it, and a wrong body", lambda line: line.story == "other projects" and line.method == "PUT"),
    ("a parent in the path that is not there", lambda line: "'title': 'Bad Request'" in str(_answers(line)[0].body)),
    ("`project_id` of a child", _says("It should be the load balancer's")),
    ("a number with a fraction, or `true`", _both(_told(400), _sends(r"\d\.5|: true|: 2}|\"address\": 5"))),
    ("`insert_headers`", _says("attribute X-Forwarded-")),
    ("field and value in an error", lambda line: _WHOLE.search(_octavias(line)) is not None),
    ("ids of subnets, networks, ports, groups and flavors", lambda line: "UUID format" in _octavias(line)),
    ("null", lambda line: _NULL.search(f"{_octavias(line)} {_sent(line)}") is not None),
    ("a change that changes nothing", _both(_asks("^PUT"), _sends(r": \{\}\}|: \{\"session_persistence\": \{\}"))),
    ("hints in errors", lambda line: bool(_octavias(line)) and _begins(_octavias(line), _ours(line))),
    ("a path that is not there", _asks(r"nonsense|/v2/lbaas$|/providers/noop$")),
    ("a value of a query parameter", _says("Invalid input for query parameter")),
    ("`GET /providers`", _asks(r"GET \S+/providers")),
    ("page links", _asks(r"[?&]limit=")),
    ("a filter for another project, or by `tenant_id`", _asks("tenant_id=|project_id=proj-b")),
    ("an empty filter", _asks(r"=$")),
    ("words about an L7 rule", _asks("/rules")),
    ("media types", _told(415)),
    ("quotas", _asks("/quotas")),
    ("a member's `address`, `monitor_address`", _says("unicast address")),
    ("one address, written in two ways", lambda line: "2001:" in f"{line.path} {_sent(line)} {_answers(line)[0].body}"),
    ("tags of what has none", _says("there is no filter 'tags")),
    ("an empty certificate reference", _sends(r'_container_ref": ""')),
    ("tags given twice", _sends(r'"b", "a", "b"')),
    ("`vip_address` alone", lambda line: _sent(line) == '{"loadbalancer": {"vip_address": "198.51.100.90"}}'),
    ("`additional_vips`: `port_id`", _sends("additional_vips")),
    ("which check comes first", lambda line: _octavias(line) == "This pool already has a health monitor"),
    ("which check comes first", _both(_asks("^DELETE"), lambda line: line.story == "pending")),
    ("which check comes first", _sends('"domain_name"')),
    ("children of what is being deleted", lambda line: "'PENDING_DELETE'" in str(_answers(line)[1].body)),
    ("the other listener on a port", _says("Another Listener on this Load Balancer is already using protocol")),
    ("members twice in a batch", _says("Member must be updated only once")),
    ("L7 policies", _says("L7 policies are only valid for listeners")),
    ("the listener of a new pool", _says("is invalid while the listener protocol is")),
    ("`tls_ciphers`: an empty text", _sends('"tls_ciphers": ""')),
    ("TLS of a pool that is switched on later", lambda line: line.story.startswith("pools changed")),
    ("a new member in a fully populated create", _both(_asks("/loadbalancers"), _only_octavias("NO_MONITOR"))),
    ("allowed_cidrs", _sends("allowed_cidrs")),
    ("profiles", _says("There is no such profile")),
    ("null", _both(_asks("^GET"), lambda line: line.story.startswith("members made"))),
    ("`redirect_http_code` of a REJECT policy", _sends('"redirect_http_code": 301')),
    ("a body that makes Octavia fail", lambda line: line.story == "L7 policies made"),
    ("TLS settings of a pool without TLS", lambda line: line.story.startswith("pools")),
    ("`GET /v2`", _asks("GET /v2(.0)?/?$")),
)


def reason(line: Line) -> str:
    """The row's first cell; empty if there is no reason."""
    return next((name for name, holds in RULES if holds(line)), "")
