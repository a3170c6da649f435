"""Names that a certificate may be requested for."""

import pytest

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.tls.acme.names import checked_names, is_zone_name

LABEL = "a" * 63


def test_dns_names_are_accepted_in_their_order() -> None:
    names = ("www.example.org", "example.org", "xn--bcher-kva.example", f"{LABEL}.example", "1.example")
    assert checked_names(names, names_max=5) == names


@pytest.mark.parametrize(
    "name",
    [
        "",
        "localhost",
        "*.example.org",
        "192.0.2.1",
        "2001:db8::1",
        "a..example",
        "-a.example",
        "a-.example",
        "a_b.example",
        "www.example.org.",
        f"{LABEL}a.example",
        ".".join(["a" * 49] * 5) + ".long",
        "bücher.example",
        "www.example.org\n",
        "WWW.example.org",
    ],
)
def test_a_text_that_is_no_name_for_http_01_is_refused_with_field_and_value(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked_names((name,), names_max=5)
    assert "names" in str(refused.value) and name[:100] in str(refused.value)


def test_wildcards_are_one_label_at_the_beginning_where_they_are_possible() -> None:
    names = ("*.example.org", "example.org")
    assert checked_names(names, names_max=2, wildcards=True) == names
    for name in ("*", "*.", "*.org", "*.*.example.org", "a.*.example.org", "*a.example.org", "*.192.0.2.1"):
        with pytest.raises(Invalid):
            checked_names((name,), names_max=1, wildcards=True)


def test_a_zone_has_a_dns_name_of_one_label_or_more() -> None:
    assert all(map(is_zone_name, ("example.org", "internal", "a-b.example")))
    assert not any(
        map(is_zone_name, ("", ".", "example.org.", "a_b.example", "192.0.2.1", "*.example.org", "A.example"))
    )


def test_no_names_too_many_and_repeated_names_are_refused() -> None:
    for names in ((), ("a.example",) * 2, tuple(f"{number}.example" for number in range(6))):
        with pytest.raises(Invalid):
            checked_names(names, names_max=5)
