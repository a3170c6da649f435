"""Parameters that a definition declares, and everything that can be wrong with them."""

import json
from typing import Any

import pytest

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parameters import set_parameters
from evenkeel.config.esd.parse import parse_all
from evenkeel.core.resources.enhanced_services import ServiceParameter

RATE = {"rate_limit": {"requests": 100, "interval": 10}, "connection_limit_per_source": 20}


def parsed(parameters: Any, **parts: Any) -> Definition:
    content = {"api": {**(parts or RATE), "parameters": parameters}}
    return parse_all({"a.json": json.dumps(content).encode()}).definitions["api"]


def bounds(sets: str, minimum: Any, maximum: Any) -> dict[str, Any]:
    return {"sets": sets, "minimum": minimum, "maximum": maximum}


def test_parameters_have_the_definitions_value_as_default() -> None:
    wanted = {"requests": bounds("rate_limit.requests", 10, 500), "limit": bounds("connection_limit_per_source", 1, 50)}
    found = parsed(wanted)
    assert not found.problem
    assert found.parameters["requests"] == ServiceParameter(
        sets="rate_limit.requests", minimum=10, maximum=500, default=100
    )
    assert found.enhanced_service().parameters == found.parameters
    changed = set_parameters(found.parts, found.parameters, {"requests": 50, "limit": 5})
    assert changed.rate_limit is not None and changed.rate_limit.requests == 50
    assert (changed.rate_limit.interval, changed.connection_limit_per_source) == (10, 5)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (["requests"], "an object of at most 16 parameters by name is allowed"),
        ({"Requests": bounds("rate_limit.requests", 1, 500)}, "'Requests': a name of 1 to 32 lower-case letters"),
        ({"a": {"sets": "rate_limit.requests"}}, "sets, minimum and maximum are needed"),
        ({"a": bounds("rate_limit.requests", 1, "x")}, "Expected `int`, got `str`"),
        ({"a": bounds("rate_limit.requests", 1, 99)}, "bounds around the definition's value 100 are allowed"),
        ({"a": bounds("rate_limit.interval", 1, 3601)}, "3601: not possible for rate_limit.interval"),
        ({"a": bounds("rate_limit.status", 429, 503)}, "sets: 'rate_limit.status': a number that the definition gives"),
        ({"a": bounds("rate_limit.header", 1, 2)}, "sets: 'rate_limit.header'"),
        ({"a": bounds("timeouts.tunnel", 1, 2)}, "sets: 'timeouts.tunnel'"),
        ({"a": bounds("rate_limit.__class__", 1, 2)}, "sets: 'rate_limit.__class__'"),
        ({"a": bounds("names", 1, 2)}, "sets: 'names'"),
    ],
)
def test_wrong_parameters_make_the_definition_unusable(parameters: Any, words: str) -> None:
    found = parsed(parameters)
    assert found.problem.startswith("a.json: enhanced service 'api': parameters: ") and words in found.problem


def test_parameters_of_the_same_name_twice_are_refused() -> None:
    twice = b'{"api": {"compression": {}, "parameters": {}, "parameters": {}}}'
    assert "parameters: given twice" in parse_all({"a.json": twice}).definitions["api"].problem


@pytest.mark.parametrize(
    ("values", "words"), [({"a": 501}, "a: 501. Allowed: 10 to 500"), ({"b": 1}, "b: no such parameter; allowed are a")]
)
def test_values_that_the_definition_does_not_allow_are_refused(values: dict[str, int], words: str) -> None:
    found = parsed({"a": bounds("rate_limit.requests", 10, 500)})
    with pytest.raises(ValueError, match=words):
        set_parameters(found.parts, found.parameters, values)
