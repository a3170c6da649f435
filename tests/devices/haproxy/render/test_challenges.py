"""Challenges of a certificate authority in HAProxy's configuration."""

from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import Vip
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.haproxyd import wire
from tests.devices.services import listener, policy, rule, service

TOKEN, ANSWER = "a-Token_1", "a-Token_1.thumb-Print"
LINE = (
    "http-request return status 200 content-type application/octet-stream lf-string '%[path,map_str(lb-1:challenges)]'"
    " if { path,map_str(lb-1:challenges) -m found }"
)
MAP = wire.File(name="lb-1:challenges", kind="map", content=f"/.well-known/acme-challenge/{TOKEN} {ANSWER}\n")


def load_balancer(definition: ServiceDefinition) -> wire.LoadBalancerConfig:
    made = render_load_balancer(definition)
    assert made.load_balancer is not None, made.problem
    return made.load_balancer


def rendered(definition: ServiceDefinition) -> tuple[wire.Frontend, ...]:
    return load_balancer(definition).frontends


def test_a_challenge_is_answered_before_l7_policies_judge() -> None:
    redirecting = listener(l7policies=(policy(1, rule(), action="REDIRECT_TO_URL", redirect_url="https://a.example/"),))
    (frontend,) = rendered(service(listeners=(redirecting,), challenges={TOKEN: ANSWER}))
    judging = [number for number, line in enumerate(frontend.lines) if line.startswith("http-request")]
    assert frontend.lines[judging[0]] == LINE and len(judging) > 1


def test_only_http_listeners_on_port_80_answer_challenges() -> None:
    listeners = (listener(1, protocol_port=8080), listener(2, protocol="TCP", protocol_port=80))
    assert not any(
        "acme" in line
        for each in rendered(service(listeners=listeners, challenges={TOKEN: ANSWER}))
        for line in each.lines
    )


@pytest.mark.parametrize("listeners", [(listener(),), (listener(protocol_port=8080),)], ids=["http", "none on 80"])
def test_nothing_but_the_map_differs_while_there_are_challenges(listeners: tuple[Any, ...]) -> None:
    prepared = service(listeners=listeners, prepared_for_challenges=True)
    idle, asked = load_balancer(prepared), load_balancer(replace(prepared, challenges={TOKEN: ANSWER}))
    assert idle.files == (replace(MAP, content=""),) and asked.files == (MAP,)
    assert idle == replace(asked, files=idle.files)


def test_a_load_balancer_that_is_not_prepared_has_nothing_of_challenges() -> None:
    made = load_balancer(service())
    assert made.files == () and not any("challenge" in line for each in made.frontends for line in each.lines)


def test_challenges_are_rendered_in_the_same_order_whatever_theirs_is() -> None:
    one, other = {TOKEN: ANSWER, "b": "b.c"}, {"b": "b.c", TOKEN: ANSWER}
    assert load_balancer(service(challenges=one)) == load_balancer(service(challenges=other))


@pytest.mark.parametrize("token", ["", "a b", "../x", "a'b", "a\n", "ü", "x" * 201])
def test_a_text_that_is_no_challenge_is_the_load_balancers_problem(token: str) -> None:
    assert "RFC 8555" in render_load_balancer(service(challenges={token: ANSWER})).problem
    assert "RFC 8555" in render_load_balancer(service(challenges={TOKEN: token})).problem


def test_without_a_listener_on_port_80_a_frontend_of_its_own_answers_at_every_vip() -> None:
    more = (Vip(address="2001:db8::1", subnet_id="s", network_id="n", port_id="p"),)
    one, own = rendered(
        service(listeners=(listener(protocol_port=8080),), additional_vips=more, challenges={TOKEN: ANSWER})
    )
    assert one.name == "listener-1" and own.name == "lb-1:challenges"
    assert [(bind.address, bind.port) for bind in own.binds] == [("10.1.0.2", 80), ("2001:db8::1", 80)]
    assert own.lines[-2:] == (LINE, "http-request return status 404")


@pytest.mark.parametrize(
    "changes",
    [
        {"challenges": {}},
        {"admin_state_up": False},
        {"listeners": (listener(protocol="TCP", protocol_port=80),)},
        {"listeners": (listener(protocol_port=80, admin_state_up=False),)},
    ],
    ids=["no_challenge", "disabled", "tcp_listener_there", "disabled_listener_there"],
)
def test_no_frontend_of_its_own_where_none_is_needed_or_possible(changes: dict[str, Any]) -> None:
    definition = service(**{"listeners": (), "challenges": {TOKEN: ANSWER}, **changes})
    assert not any(":" in each.name for each in rendered(definition))
