"""CAA records, and whether an authority may issue with them (RFC 8659, RFC 8657)."""

import pytest

from evenkeel.core.tls.acme.caa import CaaRecord, Issuer, caa_lookup_names, caa_problem

ACCOUNT = "https://ca.example/account/1"
ISSUER = Issuer(identities=("ca.example", "ca.test"), account_url=ACCOUNT)


def issue(value: str) -> CaaRecord:
    return CaaRecord(0, "issue", value)


def test_parents_are_asked_after_the_name_itself() -> None:
    assert caa_lookup_names("a.b.example") == ("a.b.example", "b.example", "example")


@pytest.mark.parametrize(
    "records",
    [
        (),
        (CaaRecord(0, "iodef", "mailto:a@example.org"),),
        (CaaRecord(0, "issuewild", ";"),),
        (CaaRecord(0, "unknown", "x"),),
        (CaaRecord(128, "iodef", "mailto:a@example.org"),),
        (issue("ca.example"),),
        (issue(" CA.example. "),),
        (issue(";"), issue("ca.test")),
        (CaaRecord(128, "ISSUE", "ca.example"),),
        (issue(f"ca.example; accounturi={ACCOUNT}; validationmethods=dns-01,http-01"),),
        (issue("ca.example; policy=ev"),),
    ],
)
def test_records_that_name_the_authority_or_restrict_nothing_allow_it(records: tuple[CaaRecord, ...]) -> None:
    assert caa_problem(records, ISSUER, method="http-01") == ""


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ((issue(";"),), "only ';'"),
        ((issue("other.example"),), "only 'other.example', and the authority is ca.example or ca.test with http-01"),
        ((issue("notca.example"),), "notca.example"),
        ((issue("ca.example; accounturi=https://ca.example/account/2"),), "account/2"),
        ((issue("ca.example; validationmethods=dns-01"),), "validationmethods=dns-01"),
        ((issue("ca.example"), CaaRecord(128, "future", "x")), "critical property future"),
    ],
)
def test_records_that_allow_others_only_are_told(records: tuple[CaaRecord, ...], told: str) -> None:
    assert told in caa_problem(records, ISSUER, method="http-01")


def test_an_unknown_account_is_not_compared() -> None:
    issuer = Issuer(identities=("ca.example",), account_url="")
    assert caa_problem((issue(f"ca.example; accounturi={ACCOUNT}"),), issuer, method="http-01") == ""


def test_wildcards_have_records_of_their_own() -> None:
    records = (issue("ca.example"), CaaRecord(0, "issuewild", "other.example"))
    assert caa_problem(records, ISSUER, method="dns-01") == ""
    assert caa_problem(records, ISSUER, method="dns-01", wildcard=True)
