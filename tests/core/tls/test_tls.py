"""Versions and ciphers that an operator forbids, and the defaults that are left."""

import pytest

from evenkeel.core.tls.tls import (
    DEFAULT_CIPHERS,
    DEFAULT_VERSIONS,
    TLS13_CIPHERS,
    TLS_VERSIONS,
    UNRESTRICTED_TLS,
    TlsRules,
)

RSA_AES = "ECDHE-RSA-AES128-GCM-SHA256"
TLS13 = "TLS_AES_128_GCM_SHA256"


def test_nothing_is_forbidden_by_default() -> None:
    assert UNRESTRICTED_TLS.forbidden_versions(TLS_VERSIONS) == ()
    assert UNRESTRICTED_TLS.forbidden_ciphers("ALL:NULL") == ()
    assert (UNRESTRICTED_TLS.default_ciphers, UNRESTRICTED_TLS.default_versions) == (DEFAULT_CIPHERS, DEFAULT_VERSIONS)


@pytest.mark.parametrize("at", range(len(TLS_VERSIONS)))
def test_versions_below_the_minimum_are_forbidden_and_no_defaults(at: int) -> None:
    rules = TlsRules(minimum_version=TLS_VERSIONS[at])
    assert rules.forbidden_versions(TLS_VERSIONS) == TLS_VERSIONS[:at]
    assert rules.default_versions == tuple(each for each in DEFAULT_VERSIONS if each in TLS_VERSIONS[at:])
    assert rules.default_versions


@pytest.mark.parametrize(
    ("given", "forbidden"),
    [
        (RSA_AES, (RSA_AES,)),
        (f"AES256-SHA:{TLS13}:{RSA_AES}", (RSA_AES, TLS13)),
        ("HIGH", (RSA_AES,)),
        ("ALL:!aNULL", (RSA_AES,)),
        ("HIGH:!AESGCM", ()),
        ("AES256-SHA", ()),
        ("TLS_AES_256_GCM_SHA384", ()),
        ("NONSENSE", ()),
        (f"NONSENSE:{TLS13}", (TLS13,)),
        ("", ()),
    ],
)
def test_ciphers_are_found_by_name_and_in_groups(given: str, forbidden: tuple[str, ...]) -> None:
    rules = TlsRules(prohibited_ciphers=frozenset({RSA_AES, TLS13, "RC4-MD5"}))
    assert rules.forbidden_ciphers(given) == forbidden


def test_defaults_leave_out_what_is_prohibited() -> None:
    rules = TlsRules(prohibited_ciphers=frozenset({RSA_AES, TLS13}))
    assert rules.default_ciphers.split(":") == [
        name for name in DEFAULT_CIPHERS.split(":") if name not in (RSA_AES, TLS13)
    ]


def test_ciphers_of_older_versions_do_not_let_prohibited_ones_of_the_newest_through() -> None:
    rules = TlsRules(prohibited_ciphers=frozenset({RSA_AES, TLS13}))
    assert rules.implicitly_used_prohibited_ciphers("AES256-SHA", DEFAULT_VERSIONS) == (TLS13,)
    assert rules.implicitly_used_prohibited_ciphers("AES256-SHA:TLS_AES_256_GCM_SHA384", DEFAULT_VERSIONS) == ()
    assert rules.implicitly_used_prohibited_ciphers("AES256-SHA", ("TLSv1.2",)) == ()
    assert UNRESTRICTED_TLS.implicitly_used_prohibited_ciphers("AES256-SHA", DEFAULT_VERSIONS) == ()


def test_the_newest_is_no_default_where_all_its_ciphers_are_prohibited() -> None:
    assert TlsRules(prohibited_ciphers=TLS13_CIPHERS).default_versions == ("TLSv1.2",)
    assert TlsRules(prohibited_ciphers=TLS13_CIPHERS, minimum_version="TLSv1.3").default_versions == ()
