"""Default settings, judged by sslyze against Mozilla's intermediate profile.

sslyze gets an environment of its own, because it needs an older ``cryptography``.
"""

import datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from evenkeel.api.usecases.tls_rules import DEFAULT_ALPN
from evenkeel.core.tls.tls import DEFAULT_CIPHERS, DEFAULT_VERSIONS
from tests.certificates import certificate, referring
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.haproxy.test_tls import HaproxySite
from tests.devices.services import service
from tests.devices.tls_behaviour import PORT, Clients, pool_of, running, tls_listener
from tests.key_managers.authority import Issued, Key, ec_key, rsa_key
from tests.services.installation import NotInstallable, environment

VERSION = "6.3.1"
NAME = "www.example.org"


class Trusted(Issued):
    """A certificate as authorities of the Web make them: sslyze looks at all of it. ``issuer`` None: an authority's."""

    def __init__(self, name: str, key: Key, issuer: Issued | None = None) -> None:
        now = datetime.datetime.now(datetime.UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signing = issuer.key if issuer else key
        usage = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only"), False
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.certificate.subject if issuer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=80))
            .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=issuer is not None,
                    key_cert_sign=issuer is None,
                    crl_sign=issuer is None,
                    decipher_only=False,
                    **usage,
                ),
                critical=True,
            )
        )
        if issuer is not None:
            names, purposes = x509.SubjectAlternativeName([x509.DNSName(name)]), [ExtendedKeyUsageOID.SERVER_AUTH]
            builder = builder.add_extension(names, critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        self.certificate = builder.sign(signing, hashes.SHA256())
        self.key = key
        self.issuer = issuer


@pytest.fixture(scope="module")
def sslyze() -> Path:
    """The program."""
    try:
        return environment("sslyze", VERSION, [f"sslyze=={VERSION}"]) / "bin" / "sslyze"
    except NotInstallable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
async def test_default_settings_are_those_of_mozillas_intermediate_profile(
    rig: HaproxyRig, sslyze: Path, tmp_path: Path, kind: str
) -> None:
    site = HaproxySite(rig)
    clients = Clients(site, tmp_path)
    root = Trusted("root", ec_key())
    named = {"www": certificate(Trusted(NAME, rsa_key() if kind == "rsa" else ec_key(), root))}
    authorities = tmp_path / "root.pem"
    authorities.write_bytes(root.pem)
    wanted = tls_listener(tls_ciphers=DEFAULT_CIPHERS, tls_versions=DEFAULT_VERSIONS, alpn_protocols=DEFAULT_ALPN)
    async with running(clients.member("plain")) as plain:
        await site.take(referring(service(listeners=(wanted,), pools=(pool_of(plain),)), named), named)
        host, port = site.place(PORT)
        target = f"{NAME}:{port}{{{host}}}"
        said = await clients.command(str(sslyze), target, "--certinfo_ca_file", str(authorities))
    assert "OK - Compliant." in said, said
