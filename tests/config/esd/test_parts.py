"""Parts of enhanced services: what is read, and everything that can be wrong with them."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parse import parse_all
from evenkeel.config.esd.parts import (
    BODY_BYTES_MAX,
    PARTS,
    VARIABLES,
    HeaderChanges,
    Parts,
    Timeouts,
    parts_report,
    template_words,
)
from tests.devices.hostile_text_behaviour import TEXTS, possible, template


def only(content: Any) -> Definition:
    (definition,) = parse_all(
        {"a.json": json.dumps({"web": content}, ensure_ascii=False).encode()}
    ).definitions.values()
    return definition


DOCUMENTS = Path(__file__).parents[3] / "docs"
EVERY: dict[str, Any] = {
    "allow": ["10.0.0.0/8", "2001:db8::/32"],
    "deny": ["10.1.0.0/16"],
    "connection_limit_per_source": 10,
    "rate_limit": {"requests": 50, "interval": 10, "cookie": "session", "status": 503},
    "maintenance": {"body": "back soon", "content_type": "text/plain", "retry_after": 60},
    "https_redirect": {"code": 308, "port": 8443},
    "request_headers": {"remove": ["X-A"], "set": {"X-B": "{client_address}"}, "add": {"X-C": "{{"}},
    "response_headers": {"set": {"X-D": "d"}},
    "security_headers": "strict",
    "error_pages": {"503": {"body": "<p>sorry</p>"}},
    "compression": {"types": ["text/html"], "minimum_size": 2048},
    "timeouts": {"request": 5, "keep_alive": 10, "tunnel": 3600},
    "access_log": {"target": "[2001:db8::514]:514", "protocol": "tcp", "lines_per_second": 50, "query": True},
    "member_connection_limit": {"connections": 20, "queue": 5, "wait": 3},
    "drain": 60,
    "cookie_encryption": {"cookies": ["session", ".app"]},
    "haproxy_lines": ["http-request set-header X-A 'b'"],
}


def test_every_part_is_read_and_reported_with_pages_as_digests() -> None:
    definition = only(EVERY)
    assert (definition.problem, definition.warnings, definition.parts.names) == ("", (), PARTS)
    report = {name: json.loads(text) for name, text in parts_report(definition.parts).items()}
    assert report.keys() == set(PARTS)
    assert report["maintenance"]["body"].startswith("9 bytes, sha256 ")
    assert report["error_pages"]["503"]["body"].startswith("12 bytes, sha256 ")
    for name in ("deny", "https_redirect", "security_headers", "timeouts", "compression"):
        assert report[name] == EVERY[name]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"https_redirect": {"code": 300}}, "https_redirect.code`; allowed: 301, 302, 307, 308"),
        ({"https_redirect": {"cod": 301}}, "unknown field `cod` - at `$.https_redirect`; allowed: code, port"),
        ({"security_headers": "all"}, "Invalid enum value 'all' - at `$.security_headers`; allowed: basic, strict"),
        ({"rate_limit": {"requests": 0}}, "Expected `int` >= 1 - at `$.rate_limit.requests`"),
        ({"rate_limit": {"requests": True}}, "got `bool` - at `$.rate_limit.requests`"),
        ({"rate_limit": {"requests": 1, "header": "A", "cookie": "b"}}, "header and cookie: one of both is allowed"),
        ({"rate_limit": {"requests": 1, "header": "A b"}}, "at `$.rate_limit.header`"),
        ({"rate_limit": {}}, "missing required field `requests`"),
        ({"request_headers": {"set": {"X-A": "{nobody}"}}}, "{nobody} is no variable; allowed are {client_address}"),
        ({"request_headers": {"set": {"X-A": "{host!r}"}}}, "{host} is no variable"),
        ({"request_headers": {"set": {"X-A": "a { b"}}}, "a single brace"),
        ({"request_headers": {"set": {"X-A": "a\r\nX-B: b"}}}, "at `$.request_headers.set"),
        ({"request_headers": {"set": {"X-A\n": "a"}}}, "at `key` in `$.request_headers.set`"),
        ({"request_headers": {"remove": ["Content-Length"]}}, "header 'Content-Length': any but connection,"),
        ({"response_headers": {"add": {"x-ssl-client-cn": "a"}}}, "header 'x-ssl-client-cn': any but"),
        (
            {"error_pages": {"599": {"body": "x"}}},
            "Invalid enum value '599' - at `key` in `$.error_pages`; allowed: 400",
        ),
        ({"error_pages": {"503": {"body": ""}}}, "Expected `str` of length >= 1"),
        ({"error_pages": {"503": {"body": "ä" * BODY_BYTES_MAX}}}, "body: 32768 bytes; at most 16384 are allowed"),
        ({"maintenance": {"body": "a\0b"}}, "body: text without zero bytes is allowed"),
        ({"maintenance": {"body": "a", "content_type": "text/html\nX: y"}}, "at `$.maintenance.content_type`"),
        ({"deny": ["10.0.0.1/8"]}, "deny: '10.0.0.1/8': an IPv4 or IPv6 network is allowed"),
        ({"allow": []}, "Expected `array` of length >= 1"),
        ({"timeouts": {"tunnel": 0}}, "at `$.timeouts.tunnel`"),
        ({"rate_limits": {"requests": 1}}, "'rate_limits': no such tag or part; allowed are lbaas_ctcp"),
    ],
)
def test_an_unusable_part_makes_its_definition_unusable(content: Any, said: str) -> None:
    definition = only({"lbaas_ctcp": "tcp", **content})
    assert definition.problem.startswith("a.json: enhanced service 'web': ") and said in definition.problem
    assert definition.parts.names == () and definition.tags == {}


def test_the_definitions_of_the_guide_are_read_and_the_reference_has_every_part() -> None:
    guide = (DOCUMENTS / "how-to" / "offer-enhanced-services.md").read_text()
    text = guide.partition("```json\n")[2].partition("```")[0]
    definitions = parse_all({"guide.json": textwrap.dedent(text).encode()}).definitions
    assert len(definitions) == 5 and not any(one.problem or one.warnings for one in definitions.values())
    reference = (DOCUMENTS / "reference" / "enhanced-services.md").read_text()
    assert [part for part in (*PARTS, *(f"{{{name}}}" for name in VARIABLES)) if f"`{part}`" not in reference] == []


def test_a_part_or_a_field_that_is_given_twice_is_refused() -> None:
    for text in (
        '{"web": {"security_headers": "basic", "security_headers": "strict"}}',
        '{"web": {"rate_limit": {"requests": 1, "requests": 2}}}',
    ):
        (definition,) = parse_all({"a.json": text.encode()}).definitions.values()
        assert "given twice; once is allowed" in definition.problem


@given(st.lists(st.one_of(st.text(st.characters(min_codepoint=32, max_codepoint=126)), st.sampled_from(VARIABLES))))
def test_a_template_is_its_literals_and_variables_in_order(pieces: list[str]) -> None:
    escaped = [f"{{{one}}}" if one in VARIABLES else one.replace("{", "{{").replace("}", "}}") for one in pieces]
    words = template_words("".join(escaped))
    assert "".join(literal + (f"<{name}>" if name else "") for literal, name in words) == "".join(
        f"<{one}>" if one in VARIABLES else one for one in pieces
    )


@pytest.mark.parametrize(
    ("target", "address", "port"),
    [("192.0.2.1:514", "192.0.2.1", 514), ("[2001:DB8::0:1]:6514", "2001:db8::1", 6514)],
)
def test_target_of_an_access_log_is_an_address_and_a_port(target: str, address: str, port: int) -> None:
    log = only({"access_log": {"target": target}}).parts.access_log
    assert log is not None
    assert (log.address, log.port) == (address, port)


@pytest.mark.parametrize(
    "target",
    ["", "192.0.2.1", ":514", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:5 14", "192.0.2.1:٥١٤",
     "2001:db8::1:514", "[192.0.2.1]:514", "[fe80::1%eth0]:514", "[::1]", "logs.example:514", "192.0.2.1:514\nlog x",
     "192.0.2.1:514 len 9", "udp@192.0.2.1:514", "192.0.2.1/24:514", "0300.0.2.1:514", "3221225985:514"],
)  # fmt: skip
def test_other_targets_of_access_logs_are_refused(target: str) -> None:
    problem = only({"access_log": {"target": target}}).problem
    assert "ADDRESS:PORT, as 192.0.2.1:514 or [2001:db8::1]:514, is allowed" in problem


def test_changed_settings_are_those_that_differ_from_their_defaults() -> None:
    parts = Parts(request_headers=HeaderChanges(add={"X-Client": "{client_address}"}), timeouts=Timeouts(tunnel=60))

    assert parts.changed_settings("request_headers") == ("add",)
    assert parts.changed_settings("timeouts") == ("tunnel",)
    assert parts.changed_settings("response_headers") == ()


def test_hostile_texts_that_no_header_may_have_are_refused() -> None:
    refused = [text for text in TEXTS if not possible(text)]
    assert len(TEXTS) > len(refused) > 0
    for text in refused:
        assert only({"request_headers": {"set": {"X-Text": template(text)}}}).problem, text
