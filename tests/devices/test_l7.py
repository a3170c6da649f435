"""Values of L7 policies and rules."""

import pytest

from evenkeel.devices import l7
from evenkeel.devices.errors import Unrenderable
from tests.devices.services import policy, rule


@pytest.mark.parametrize("code", sorted(l7.REDIRECT_CODES))
def test_redirect_codes_are_taken(code: int) -> None:
    assert l7.redirect_code(policy(redirect_http_code=code)) == code


def test_other_redirect_codes_are_refused_by_name_and_none_means_302() -> None:
    assert l7.redirect_code(policy()) == 302
    with pytest.raises(Unrenderable, match="l7policy policy-1: redirect_http_code 304: 301, 302, 303, 307, 308 are"):
        l7.redirect_code(policy(redirect_http_code=304))


def test_the_field_of_a_refused_url_is_named() -> None:
    prefix = policy(action="REDIRECT_PREFIX", redirect_prefix="ftp://x", redirect_url="http://x")
    with pytest.raises(Unrenderable, match="redirect_prefix 'ftp://x' is no http or https URL"):
        l7.redirect_url(prefix)
    assert l7.redirect_url(policy(action="REDIRECT_TO_URL", redirect_url="HTTPS://x/y")) == "HTTPS://x/y"


def test_quotes_around_a_value_are_not_part_of_it() -> None:
    assert [l7.unquoted_value(rule(value=text)) for text in ('"a b"', "a", '"a"b"')] == ["a b", "a", '"a"b"']


@pytest.mark.parametrize("text", ["", "-1", "1234567890", "x"])
def test_a_verify_result_is_a_number_of_nine_digits(text: str) -> None:
    assert l7.verify_result_code(rule(value="007")) == "7"
    with pytest.raises(Unrenderable, match="0 to 999999999 are possible"):
        l7.verify_result_code(rule(value=text))
