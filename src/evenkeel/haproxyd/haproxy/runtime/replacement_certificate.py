"""A certificate and key that take the place of those which HAProxy has to forget but does not delete."""

import functools

import trustme

REPLACEMENT_DNS_NAME = "removed.evenkeel.invalid"


@functools.cache
def replacement_certificate() -> str:
    """Return a self-made certificate with its private key, as PEM, that no client trusts; the same one for
    the life of this process.
    """
    return (
        trustme.CA(organization_name="evenkeel")
        .issue_cert(REPLACEMENT_DNS_NAME)
        .private_key_and_cert_chain_pem.bytes()
        .decode()
    )
