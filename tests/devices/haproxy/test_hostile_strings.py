"""Whatever users write stays inside the word it is put into."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import Vip
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.devices.haproxy.render.quoting import (
    log_format_literal,
    percent_encode_path,
    quote_argument,
    quote_line,
    quote_word,
)
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.partition.validation import load_balancer_problem
from evenkeel.haproxyd.settings import DaemonSettings
from tests.certificates import referring
from tests.devices.haproxy.configuration import HAPROXY, page, rendered, verdict
from tests.devices.haproxy.features import CONTENTS, NAMED, judged, sticky, tls_listener, tls_pool
from tests.devices.haproxy.words import words
from tests.devices.services import listener, member, monitor, policy, pool, rule, service

HOSTILE = (
    "a b",
    "a\tb",
    'a"b',
    "a'b",
    "'",
    '"',
    "''",
    "a#b",
    "#",
    "a\\b",
    "a\\",
    "\\'",
    "a\nserver evil 10.6.6.6:80",
    "a\r\nX: y",
    "a;disable server b/c",
    "a$HOME",
    '"${HOME}"',
    "a%[src]b",
    "%%",
    "a,b)c(",
    "{ always_true }",
    "a if TRUE",
    "/../..",
    "\0",
    "ä",
    "漢字",
    "\u2028",
    "\x7f",
    "\x85",
    "../../etc/passwd",
    "",
    "-f",
    "a" * 3000,
    "--",
    "-i",
    "[[:alpha:]]",
    "(?P<n>a)|(?P=n)",
    "(((((a{1,9}){1,9}",
    "https://example.com/%[src]",
    "https://example.com/ code 200",
)
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=60),
    st.text(alphabet=" \t\n\r#\\\"'$%{}[]();,:/a0", max_size=30),
)


KEYS = {"HEADER": "X-K", "COOKIE": "X-K", "SSL_DN_FIELD": "CN"}


def with_tls(field: str, text: str) -> ServiceDefinition:
    """A load balancer with ``text`` in what is said of TLS, towards clients and members. A list of ciphers has a known
    one too: HAProxy takes others then, known to it or not."""
    named = {
        **NAMED,
        "www" if field != "ref" else text: NAMED["www"],
        "clients" if field != "ca_ref" else text: NAMED["clients"],
    }
    www, clients = (text if field == each else usual for each, usual in (("ref", "www"), ("ca_ref", "clients")))
    change = (
        {field: f"AES128-GCM-SHA256:{text}"}
        if field == "tls_ciphers"
        else {"alpn_protocols": (text,)}
        if field == "alpn"
        else {}
    )
    listeners = tls_listener(
        default_tls_container_ref=www,
        client_authentication=text if field == "client_authentication" else "OPTIONAL",
        client_ca_tls_container_ref=clients,
        **change,
    )
    pools = tls_pool(tls_container_ref=www, ca_tls_container_ref=clients, **change)
    return referring(service(listeners=(listeners,), pools=(pools,)), named)


def with_(place: str, text: str) -> ServiceDefinition:
    """A load balancer with ``text`` in one place."""
    kind, _, field = place.partition(".")
    change: dict[str, Any] = {field: text}
    if kind == "service":
        return service(**change)
    if kind == "vip":
        return service(vip=Vip(address=text, subnet_id="s", network_id="n", port_id="p"))
    if kind == "listener":
        change = {
            "insert_headers": {"insert_headers": {text: "true"}},
            "switch": {"insert_headers": {"X-Forwarded-For": text}},
            "cidr": {"allowed_cidrs": (text,)},
        }.get(field, change)
        return service(listeners=(listener(**change),))
    if kind == "tls":
        return with_tls(field, text)
    if kind in ("SSL_DN_FIELD", "HOST_NAME", "PATH", "FILE_TYPE", "HEADER", "COOKIE"):
        return judged(policy(1, rule(type=kind, **{"key": KEYS.get(kind), **change})))
    if kind == "REGEX":
        return judged(policy(1, rule(compare_type="REGEX", **change)))
    if kind == "policy":
        action = "REDIRECT_TO_URL" if field == "redirect_url" else "REDIRECT_PREFIX"
        return judged(policy(1, action=action, **change))
    if kind == "member":
        return service(pools=(pool(members=(member(**change),)),))
    if kind == "monitor":
        return service(pools=(pool(members=1, monitor=monitor(http_version=1.1, **change)),))
    if kind in ("HTTP_COOKIE", "APP_COOKIE"):
        return service(pools=(pool(members=1, session_persistence=sticky(kind, text)),))
    return service(listeners=(listener(default_pool_id=text),), pools=(pool(members=1, id=text),))


USED = {
    "service.load_balancer_id": "lb-1",
    "vip.address": "10.1.0.2",
    "listener.id": "listener-1",
    "listener.insert_headers": "X-Forwarded-For",
    "listener.switch": "true",
    "listener.cidr": "10.0.0.0/8",
    "pool.id": "pool-1",
    "member.id": "member-1-1",
    "member.address": "10.2.1.1",
    "member.monitor_address": "10.2.1.1",
    "monitor.http_method": "GET",
    "monitor.url_path": "/",
    "monitor.expected_codes": "200",
    "monitor.domain_name": "example.com",
    "HTTP_COOKIE.name": "SRV",
    "APP_COOKIE.name": "SESSION",
    "HOST_NAME.value": "www",
    "PATH.value": "/",
    "HEADER.value": "v",
    "HEADER.key": "X-K",
    "COOKIE.value": "v",
    "COOKIE.key": "k",
    "SSL_DN_FIELD.value": "v",
    "SSL_DN_FIELD.key": "CN",
    "REGEX.value": "^/",
    "tls.tls_ciphers": "ECDHE-RSA-AES128-GCM-SHA256",
    "tls.alpn": "h2",
    "tls.ref": "www",
    "tls.ca_ref": "clients",
    "tls.client_authentication": "OPTIONAL",
    "policy.redirect_url": "https://example.com/",
    "policy.redirect_prefix": "https://example.com",
}
"""Where a user's text, or one that comes with it, may get into the configuration; and a harmless text for the place."""
UNUSED = ("service.name", "listener.name", "listener.description", "member.name", "monitor.name")


def harmless(place: str, text: str) -> str:
    """A text for the place of the same kind. Ciphers of TLS 1.3 are an option of their own."""
    if place != "tls.tls_ciphers":
        return USED[place]
    newest = [name.startswith("TLS_") for name in text.split(":")]
    return ":".join("TLS_AES_128_GCM_SHA256" if new else USED[place] for new in newest)


def shape(load_balancer: wire.LoadBalancerConfig) -> list[tuple[int, str]]:
    """How many words each line has, and the first of them."""
    lines = [text for part in (*load_balancer.frontends, *load_balancer.backends) for text in part.lines]
    arguments = [
        *(one.bind_arguments for one in load_balancer.frontends),
        *(server.arguments for one in load_balancer.backends for server in one.servers),
    ]
    return [(len(split), split[0]) for split in map(words, lines)] + [(len(each), "arguments") for each in arguments]


@settings(deadline=None)
@given(texts)
def test_a_quoted_word_is_that_word(text: str) -> None:
    try:
        quoted = quote_word(text)
    except ValueError:
        assert not text or any(ord(char) < 32 or ord(char) == 127 for char in text)
    else:
        assert words(quoted) == [text]
        assert words(quote_line("first", text, "last")) == ["first", text, "last"]


@settings(deadline=None)
@given(texts)
def test_a_path_holds_nothing_that_ends_a_request_line(text: str) -> None:
    encoded = percent_encode_path(text)
    assert encoded.isascii() and not set(encoded) & set(' "\\<>{}\r\n\t#')
    assert unquote(encoded) == unquote(text)


@settings(deadline=None)
@given(texts)
def test_a_literal_has_no_variables_and_an_argument_stays_one(text: str) -> None:
    assert "%" not in log_format_literal(text).replace("%%", "")
    inner = quote_argument(text)[1:-1].replace("\\\\", "").replace('\\"', "")
    assert '"' not in inner and not inner.endswith("\\")


@pytest.mark.parametrize("place", USED)
@settings(deadline=None)
@given(text=texts)
@example(text="::")
@example(text="TLS_")
@example(text="a:TLS_")
def test_hostile_text_is_refused_by_name_or_changes_only_its_own_word(place: str, text: str) -> None:
    found = render_load_balancer(with_(place, text), CONTENTS)
    if found.load_balancer is None:
        assert found.problem and len(found.problem) < 10_000
        return
    plain = rendered(with_(place, harmless(place, text)), CONTENTS)
    if place not in ("listener.switch", "listener.insert_headers"):
        optional = 1 if not text else 0
        assert len(shape(found.load_balancer)) >= len(shape(plain)) - optional
        if text:
            assert shape(found.load_balancer) == shape(plain)
    problem = load_balancer_problem(
        found.load_balancer, DaemonSettings(name="d", state_dir=Path("/"), run_dir=Path("/"))
    )
    # what only the daemon knows: how much there is of all together, and which addresses its host allows
    assert not problem or "characters" in problem or "address is '" in problem, problem


@pytest.mark.parametrize("place", UNUSED)
@settings(deadline=None)
@given(text=texts)
def test_names_and_descriptions_of_users_are_not_on_the_device(place: str, text: str) -> None:
    assert page(rendered(with_(place, text))) == page(rendered(with_(place, "harmless")))


@pytest.mark.skipif(HAPROXY is None, reason="no haproxy on this machine")
@pytest.mark.parametrize("place", [*USED, *UNUSED])
def test_haproxy_takes_whatever_was_not_refused(place: str) -> None:
    found = {text: render_load_balancer(with_(place, text[:1000]), CONTENTS).load_balancer for text in HOSTILE}
    taken = {page(one): (text, one) for text, one in found.items() if one is not None}
    for text, one in taken.values():
        assert verdict(one) == "", text
