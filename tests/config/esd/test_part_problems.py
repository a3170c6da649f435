"""Words for parts that cannot be read: what is allowed is named wherever the field is."""

from typing import Any

import msgspec
import pytest

from evenkeel.config.esd.part_problems import part_problem
from evenkeel.config.esd.parts import Parts


@pytest.mark.parametrize(
    ("content", "allowed"),
    [
        ({"https_redirect": {"code": 1}}, "301, 302, 307, 308"),
        ({"rate_limit": {"requests": 1, "status": 1}}, "429, 503"),
        ({"error_pages": {"200": {"body": "x"}}}, "400, 403, 408, 413, 429, 500, 502, 503, 504"),
        ({"error_pages": {"503": {"text": "x"}}}, "body, content_type"),
        ({"timeouts": {"idle": 1}}, "request, keep_alive, tunnel"),
    ],
)
def test_allowed_values_and_fields_are_named(content: dict[str, Any], allowed: str) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(content, Parts)
    assert part_problem(raised.value).endswith(f"; allowed: {allowed}")


def test_errors_that_say_what_is_expected_stay_as_they_are() -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert({"connection_limit_per_source": 0}, Parts)
    assert part_problem(raised.value) == "Expected `int` >= 1 - at `$.connection_limit_per_source`"
