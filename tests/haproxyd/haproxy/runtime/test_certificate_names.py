"""Names in a certificate."""

import pytest

from evenkeel.haproxyd.haproxy.runtime.certificate_names import presented_names
from tests.haproxyd.tlsworld import certificate, rsa_key, without_key


def test_names_are_those_of_the_first_certificate_in_lower_case() -> None:
    both = certificate("A.test", "*.B.test") + without_key(certificate("ca.test"))
    assert presented_names(both) == {("a.test", False), ("*.b.test", False)}
    assert presented_names(certificate("a.test", key=rsa_key())) == {("a.test", True)}


@pytest.mark.parametrize(
    "content",
    ["", "no PEM", "-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----", certificate("a.test")[:200]],
)
def test_unreadable_certificate_has_no_names(content: str) -> None:
    assert presented_names(content) == frozenset()
