"""Enhanced services that a device type cannot render."""

import json
from typing import Any

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parse import parse_all
from evenkeel.core.devices.capabilities import Capabilities
from evenkeel.devices.esd.support import SupportVerifier, without_unsupported_parts

SOME = Capabilities(service_parts=("compression", "deny"))


def definition(**content: Any) -> Definition:
    return parse_all({"a.json": json.dumps({"web": content}).encode()}).definitions["web"]


def test_definition_of_rendered_parts_is_kept_as_it_is() -> None:
    one = definition(compression={}, deny=["192.0.2.0/24"])
    assert without_unsupported_parts(one, SOME) is one


def test_definition_with_a_part_that_cannot_be_rendered_is_unusable_as_a_whole() -> None:
    found = without_unsupported_parts(definition(compression={}, https_redirect={}), SOME)
    assert found.problem == (
        "a.json: enhanced service 'web': https_redirect: not possible on this device type; allowed: compression, deny"
    )
    assert found.parts.names == ()


def test_tags_need_a_device_type_that_has_objects_of_operators() -> None:
    one = definition(lbaas_irule=["r"])
    assert "lbaas_irule: not possible" in without_unsupported_parts(one, SOME).problem
    assert without_unsupported_parts(one, Capabilities(service_tags=True)) is one
    nothing = without_unsupported_parts(definition(compression={}), Capabilities(service_tags=True))
    assert nothing.problem.endswith("allowed: tags of F5 (lbaas_*)")


async def test_earlier_problems_stay() -> None:
    wrong = definition(compression={"types": []})
    assert await SupportVerifier(SOME).verify({"web": wrong}, strict=False) == {"web": wrong}
