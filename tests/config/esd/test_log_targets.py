"""Targets of access logs: only addresses in the operator's networks that a member may have, too."""

import pytest

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.log_targets import NO_TARGETS, drop_refused_target, parse_targets
from evenkeel.config.esd.parts import NO_PARTS, AccessLog, Parts
from evenkeel.core.networking.addresses import AddressRules

LOGGED = Definition(name="web", file="a.json", parts=Parts(access_log=AccessLog(target="192.0.2.9:514")))


def test_target_within_a_network_is_allowed() -> None:
    assert drop_refused_target(LOGGED, parse_targets(["203.0.113.0/24", "192.0.2.0/24"])) is LOGGED


@pytest.mark.parametrize(("networks", "allowed"), [((), "none"), (("203.0.113.0/24",), "203.0.113.0/24")])
def test_definition_with_another_target_cannot_be_used(networks: tuple[str, ...], allowed: str) -> None:
    refused = drop_refused_target(LOGGED, parse_targets(networks))
    assert refused.parts is NO_PARTS
    assert refused.problem == (
        "a.json: enhanced service 'web': access_log: target '192.0.2.9:514':"
        f" it is in no network of the agent's access_log_networks; allowed: {allowed}"
    )


def test_target_that_no_member_may_have_is_refused_within_a_network_too() -> None:
    targets = parse_targets(["127.0.0.0/8"], AddressRules())
    assert targets.problem("127.0.0.1")
    assert parse_targets(["127.0.0.0/8"]).problem("127.0.0.1") == ""


def test_definition_without_an_access_log_is_left_as_it_is() -> None:
    plain = Definition(name="web", file="a.json")
    assert drop_refused_target(plain, NO_TARGETS) is plain


def test_text_that_is_no_network_is_an_error_that_names_the_option() -> None:
    with pytest.raises(ValueError, match=r"access_log_networks: .*logs"):
        parse_targets(["logs"])
