"""References that request the certificate that they name."""

import pytest

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.tls.acme.references import (
    is_acme_reference,
    parse_reference,
    reference_for_tenants,
    references_for_request_name,
    with_authority,
)


def test_a_reference_has_names_and_identifies_its_request_whatever_its_parameter_and_case() -> None:
    plain = parse_reference("acme://www.Example.org,example.org")
    both = parse_reference("acme://www.example.org,example.org?self_signed")
    assert plain.names == both.names == ("www.example.org", "example.org")
    assert (plain.self_signed, both.self_signed) == (False, True)
    assert plain.bare == both.bare == "acme://www.example.org,example.org"
    assert plain.name == both.name and plain.name.startswith("acme-") and len(plain.name) == 29
    assert parse_reference("acme://example.org").name != plain.name
    assert references_for_request_name(plain.bare) == (plain.bare, f"{plain.bare}?self_signed")
    assert references_for_request_name("") == ()


@pytest.mark.parametrize("parameter", ["", "?self_signed"])
def test_a_reference_by_a_flavors_authority_is_another_certificate_that_is_shown_as_it_was_written(
    parameter: str,
) -> None:
    written = f"acme://www.example.org,example.org{parameter}"
    stored = with_authority(written, "internal")
    found, plain = parse_reference(stored), parse_reference(written)
    assert (found.names, found.self_signed, found.authority) == (plain.names, plain.self_signed, "internal")
    assert found.name != plain.name
    assert stored in references_for_request_name(found.bare) and stored not in references_for_request_name(plain.bare)
    assert reference_for_tenants(stored) == written == reference_for_tenants(written) == with_authority(written, "")
    assert with_authority("vault://p1/www", "internal") == reference_for_tenants("vault://p1/www") == "vault://p1/www"


def test_references_of_key_managers_are_others() -> None:
    assert is_acme_reference("acme://") and not is_acme_reference("directory://acme/www")


@pytest.mark.parametrize(
    "reference",
    ["acme://", "acme://*.example.org", "acme://a.example,a.example", "acme://a.example?x", "acme://a.example/path"],
)
def test_an_invalid_reference_is_refused_with_the_form_that_is_allowed(reference: str) -> None:
    with pytest.raises(Invalid, match=r"acme://NAME\[,NAME…\], with \?self_signed"):
        parse_reference(reference)


def test_more_names_than_allowed_are_refused() -> None:
    with pytest.raises(Invalid, match="1 to 1"):
        parse_reference("acme://a.example,b.example", names_max=1)
