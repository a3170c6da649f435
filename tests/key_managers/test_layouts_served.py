"""Files of certbot, step and Windows are accepted, and a HAProxy serves them to clients that know the root only."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenkeel.core.tls.certificates import CertificateBundle, Secret
from evenkeel.key_managers.parsing import certificate_bundle, pem_or_pkcs12_bundle
from tests.key_managers.authority import INTERMEDIATE, ROOT
from tests.key_managers.parsing.layouts import HOST, LAYOUTS, SITE, WORD, Layout, layouts
from tests.services.haproxy import binaries

SECONDS = 60


def accepted(layout: Layout) -> CertificateBundle:
    word = None if layout.passphrase is None else Secret(layout.passphrase)
    if layout.key is None and not layout.intermediates:
        return pem_or_pkcs12_bundle("www", Secret(layout.main), word)
    key = None if layout.key is None else Secret(layout.key)
    return certificate_bundle("www", layout.main, key, intermediates=layout.intermediates, passphrase=word)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Layout, CertificateBundle]]:
    """Each layout with its bundle."""
    return {name: (layout, accepted(layout)) for name, layout in layouts(tmp_path_factory.mktemp("layouts"))}


@pytest.fixture(scope="module")
def ports(
    bundles: dict[str, tuple[Layout, CertificateBundle]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, int]]:
    """Port of a HAProxy for each layout."""
    folder = tmp_path_factory.mktemp("haproxy")
    binds, found = [], {}
    sockets = []
    for number, (name, (_, bundle)) in enumerate(bundles.items()):
        file = folder / f"{number}.pem"
        certificates = "".join((bundle.certificate, *bundle.intermediates))
        file.write_bytes(certificates.encode() + bundle.private_key.reveal())
        listening = socket.create_server(("127.0.0.1", 0))
        sockets.append(listening)
        found[name] = listening.getsockname()[1]
        binds.append(f"  bind fd@{listening.fileno()} ssl crt {file}")
    configuration = folder / "haproxy.cfg"
    lines = (
        "defaults",
        "  mode http",
        "  timeout client 60s",
        "frontend all",
        *binds,
        "  http-request return status 200",
    )
    configuration.write_text("\n".join(lines) + "\n")
    program = next(iter(binaries().values()))
    descriptors = [each.fileno() for each in sockets]
    with subprocess.Popen([program, "-db", "-f", configuration], pass_fds=descriptors) as running:
        try:
            yield found
        finally:
            running.terminate()
            running.wait(SECONDS)
            for each in sockets:
                each.close()


def served(port: int) -> bytes:
    """Certificate that a verifying client is shown, in DER."""
    context = ssl.create_default_context(cadata=ROOT.pem.decode())
    with (
        socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=HOST) as connection,
    ):
        connection.sendall(f"GET / HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        return connection.getpeercert(binary_form=True) or b""


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_is_accepted_sorted_and_what_is_odd_is_named(
    bundles: dict[str, tuple[Layout, CertificateBundle]], name: str
) -> None:
    layout, bundle = bundles[name]
    assert bundle.certificate.encode() == SITE.pem and bundle.private_key.reveal() == SITE.key_pem()
    assert [pem.encode() for pem in bundle.intermediates][:1] == [INTERMEDIATE.pem]
    assert all(pem.encode() in (INTERMEDIATE.pem, ROOT.pem) for pem in bundle.intermediates)
    assert len(bundle.warnings) == len(layout.told)
    assert all(part in warning for part, warning in zip(layout.told, bundle.warnings, strict=True))
    assert WORD not in str(bundle)


@pytest.mark.skipif(not binaries(), reason="no HAProxy")
def test_haproxy_serves_every_layout_to_clients_that_know_the_root(ports: dict[str, int]) -> None:
    leaf = ssl.PEM_cert_to_DER_cert(SITE.pem.decode())
    assert {name: served(port) == leaf for name, port in ports.items()} == dict.fromkeys(LAYOUTS, True)


@pytest.mark.skipif(not binaries() or shutil.which("openssl") is None, reason="no HAProxy or openssl")
@pytest.mark.parametrize("name", ["reversed", "Windows, pfx with another authority"])
def test_openssl_client_is_shown_the_chain_in_order(ports: dict[str, int], tmp_path: Path, name: str) -> None:
    (tmp_path / "root.pem").write_bytes(ROOT.pem)
    words = "-connect", f"127.0.0.1:{ports[name]}", "-servername", HOST, "-CAfile", str(tmp_path / "root.pem")
    command = ["openssl", "s_client", "-showcerts", "-verify_return_error", *words]
    done = subprocess.run(command, input=b"", capture_output=True, check=True, timeout=SECONDS)
    text = done.stdout.decode()
    assert "Verify return code: 0 (ok)" in text
    subjects = [line.partition("CN = ")[2] for line in text.splitlines() if line.strip()[:2] in ("0 ", "1 ", "2 ")]
    assert subjects[:2] == [HOST, "intermediate"]
