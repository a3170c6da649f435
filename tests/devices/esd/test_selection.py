"""Which definitions' parts a listener has."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import Parts
from evenkeel.core.resources.enhanced_services import PER_LISTENER_MAX, ServiceParameter
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.esd.selection import enhanced_service_parts
from tests.devices.services import listener


def definition(name: str, **content: Any) -> Definition:
    return Definition(name=name, file="a.json", parts=msgspec.convert(content, Parts))


def test_the_first_service_that_has_a_part_decides_it() -> None:
    known = {
        "a": definition("a", security_headers="basic"),
        "b": definition("b", security_headers="strict", compression={}),
    }
    found = enhanced_service_parts(listener(enhanced_services=("a", "b")), known)
    assert (found.names, found.security_headers) == (("security_headers", "compression"), "basic")


def test_parameters_change_the_parts_of_their_listener_only() -> None:
    limited = replace(
        definition("a", connection_limit_per_source=20),
        parameters={"limit": ServiceParameter(sets="connection_limit_per_source", minimum=1, maximum=50, default=20)},
    )
    chosen = listener(enhanced_services=("a",), service_parameters={"a": {"limit": 5}})
    assert enhanced_service_parts(chosen, {"a": limited}).connection_limit_per_source == 5
    assert enhanced_service_parts(listener(enhanced_services=("a",)), {"a": limited}).connection_limit_per_source == 20
    # the definition was changed after the request
    with pytest.raises(Unrenderable, match=r"a\.json: enhanced service .a.: limit: no such parameter"):
        enhanced_service_parts(chosen, {"a": definition("a", connection_limit_per_source=20)})


@pytest.mark.parametrize(
    ("protocol", "content", "said"),
    [
        ("TCP", {"https_redirect": {}}, "https_redirect: listener listener-1 has protocol TCP; HTTP is needed"),
        ("TCP", {"timeouts": {"request": 5}}, "timeouts: listener listener-1 has protocol TCP; HTTP is needed"),
        ("UDP", {"deny": ["192.0.2.0/24"]}, "deny: listener listener-1 has protocol UDP; no part is possible"),
        ("PROMETHEUS", {"compression": {}}, "has protocol PROMETHEUS; allow and deny are possible"),
    ],
)
def test_part_that_the_protocol_has_no_place_for_is_a_problem(protocol: str, content: Any, said: str) -> None:
    with pytest.raises(Unrenderable, match=said):
        enhanced_service_parts(
            listener(protocol=protocol, enhanced_services=("web",)), {"web": definition("web", **content)}
        )


def test_unknown_and_unusable_services_are_problems_and_optional_ones_are_left_out() -> None:
    broken = {"web": Definition(name="web", file="a.json", problem="a.json: it is broken")}
    for known, said in (({}, "'web' is in no file"), (broken, "it is broken")):
        with pytest.raises(Unrenderable, match=said):
            enhanced_service_parts(listener(enhanced_services=("web",)), known)
    assert enhanced_service_parts(listener(enhanced_services=("?web",)), {}).names == ()


def test_too_many_services_are_a_problem() -> None:
    names = tuple(f"s{number}" for number in range(PER_LISTENER_MAX + 1))
    with pytest.raises(Unrenderable, match="17 enhanced services; at most 16 are allowed"):
        enhanced_service_parts(listener(enhanced_services=names), {name: definition(name) for name in names})
