"""Every certificate that a page, a command or a test of this project makes passes strict verification."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import trustme

from evenkeel.demo.authority import CertificateAuthority
from evenkeel.haproxyd.api.tls import make_certificates
from evenkeel.haproxyd.network.peer_keys import NAME_IN_CERTIFICATE, make_peer_key, peer_certificate
from icontrol_emulator.tls import make_files
from tests.haproxyd.tlsworld import certificate, without_key
from tests.key_managers import authority
from tests.packaging.metric_names import ROOT
from tests.services.rabbitmq import RabbitMQ
from tests.strict_verification import newer_python, verify_by, verify_strictly

INSTALLATION = ROOT / "docs" / "how-to" / "install.md"


class Made(NamedTuple):
    """PEM files, and the name for which the certificate is."""

    authority: Path
    chain: Path
    key: Path
    name: str


def by_the_daemon(folder: Path) -> Made:
    files = make_certificates(folder / "daemon", ["lb-1"])
    return Made(files.authority, files.certificate, files.key, "lb-1")


def by_the_demo(folder: Path) -> Made:
    made = CertificateAuthority()
    issued = made.issue("www.example")
    authority_pem: str = made._authority.cert_pem.bytes().decode()
    return _written(folder, authority_pem, issued.certificate, issued.private_key, "www.example")


def by_the_emulator(folder: Path) -> Made:
    files = make_files(folder, ["bigip-1"])
    return Made(files.ca, files.cert, files.key, "bigip-1")


def between_peers(folder: Path) -> Made:
    key = make_peer_key()
    return _written(folder, peer_certificate(key), key, key, NAME_IN_CERTIFICATE)


def by_the_installation_page(folder: Path) -> Made:
    """Its commands, on this machine."""
    blocks = re.findall(r"```sh\n(.*?)```", INSTALLATION.read_text(), re.S)
    commands = next(block for block in blocks if "openssl req" in block).replace("/root/cloud", str(folder))
    commands = commands.replace("rsa:3072", "rsa:2048")  # which takes a fraction of the CPU time
    subprocess.run(["sh", "-eu", "-c", commands], check=True, capture_output=True)
    return Made(folder / "ca.pem", folder / "db.pem", folder / "db.key", "db")


def of_the_test_brokers(folder: Path) -> Made:
    server, issuer = RabbitMQ(), trustme.CA()
    try:
        server.serve_tls(issuer, "localhost")
        home = server.home
        ca, chain, key = ((home / name).read_text() for name in ("ca.pem", "cert.pem", "key.pem"))
    finally:
        server.close()
    return _written(folder, ca, chain, key, "localhost")


def of_the_tests_of_key_managers(folder: Path) -> Made:
    leaf = authority.Issued("www.example.org", authority.INTERMEDIATE, authority.ec_key(), names=("www.example.org",))
    chain = b"".join(one.pem for one in (leaf, authority.INTERMEDIATE)).decode()
    return _written(folder, authority.ROOT.pem.decode(), chain, leaf.key_pem().decode(), "www.example.org")


def of_the_tests_of_the_daemon(folder: Path) -> Made:
    pem = certificate("www.example", ca=True, key=authority.ec_key())
    return _written(folder, without_key(pem), pem, pem, "www.example")


def _written(folder: Path, authority_pem: str, chain: str, key: str, name: str) -> Made:
    made = Made(folder / "ca.pem", folder / "chain.pem", folder / "key.pem", name)
    for path, content in zip(made[:3], (authority_pem, chain, key), strict=True):
        path.write_text(content)
    return made


MAKERS = (
    by_the_daemon,
    by_the_demo,
    by_the_emulator,
    between_peers,
    by_the_installation_page,
    of_the_test_brokers,
    of_the_tests_of_key_managers,
    of_the_tests_of_the_daemon,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Made]:
    """By maker."""
    return {make.__name__: make(tmp_path_factory.mktemp(make.__name__)) for make in MAKERS}


@pytest.mark.parametrize("maker", [make.__name__ for make in MAKERS])
def test_certificate_passes_strict_verification(maker: str, made: Mapping[str, Made]) -> None:
    verify_strictly(*made[maker])


def test_certificates_pass_the_default_verification_of_a_newer_python(made: Mapping[str, Made]) -> None:
    python = newer_python()
    if python is None:
        pytest.skip("no Python of 3.13 or newer is installed")
    for one in made.values():
        verify_by(python, *one)
