"""CAA records: whether they allow an authority to issue (RFC 8659, RFC 8657). Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

CRITICAL = 0x80
KNOWN_TAGS = frozenset({"issue", "issuewild", "iodef", "contactemail", "contactphone", "issuemail", "issuevmc"})
_SHOWN_CHARACTERS = 200


class CaaRecord(NamedTuple):
    """A CAA record: flags, tag (the property) and value, as in DNS."""

    flags: int
    tag: str
    value: str


class Issuer(NamedTuple):
    """A certificate authority and an account, as CAA records name them."""

    identities: tuple[str, ...]
    """Domain names of the authority, in lower case; none: unknown, and nothing is checked."""
    account_url: str
    """URL of the account; empty: unknown, and records for one account are not compared."""


def caa_lookup_names(name: str) -> tuple[str, ...]:
    """Return the name and its parents up to the top-level domain, in the order of lookup: the CAA records of
    the first one that has any count (RFC 8659, 3).
    """
    labels = name.split(".")
    return tuple(".".join(labels[number:]) for number in range(len(labels)))


def caa_problem(records: Sequence[CaaRecord], issuer: Issuer, *, method: str, wildcard: bool = False) -> str:
    """Return why the CAA records do not allow the authority to issue (human-readable); empty if they do.
    ``method``: validation method, such as ``http-01``; ``wildcard``: whether the certificate's name is a
    wildcard.
    """
    unknown = [each.tag for each in records if each.flags & CRITICAL and each.tag.lower() not in KNOWN_TAGS]
    if unknown:
        return f"they have the critical property {unknown[0][:_SHOWN_CHARACTERS]}, which is unknown"
    values = [each.value for each in records if each.tag.lower() == "issue"]
    wild = [each.value for each in records if each.tag.lower() == "issuewild"]
    if wildcard and wild:
        values = wild
    if not values or any(_caa_record_allows(value, issuer, method) for value in values):
        return ""
    shown = ", ".join(value.strip() for value in values)[:_SHOWN_CHARACTERS]
    return f"they allow only {shown!r}, and the authority is {' or '.join(issuer.identities)} with {method}"


def _caa_record_allows(value: str, issuer: Issuer, method: str) -> bool:
    domain, *rest = value.split(";")
    if domain.strip().rstrip(".").lower() not in issuer.identities:
        return False
    for name, given in _parse_caa_parameters(rest):
        if name == "accounturi" and issuer.account_url and given != issuer.account_url:
            return False
        if name == "validationmethods" and method not in (each.strip() for each in given.split(",")):
            return False
    return True


def _parse_caa_parameters(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, _, value = text.partition("=")
        yield name.strip().lower(), value.strip()
