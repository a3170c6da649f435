"""The ClientHello of checks, judged by TLS servers."""

import re
import ssl
from pathlib import Path

import pytest

from evenkeel.devices.bigip.render.tls_hello import EXPECTED_ANSWER, client_hello, encode_for_monitor_string
from tests.certificates import put_files
from tests.key_managers.authority import ROOT, Issued, ec_key


def answer(folder: Path, version: ssl.TLSVersion) -> bytes:
    """What a server that speaks only that version answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*put_files(folder, "member", Issued("member", ROOT, ec_key(), names=("a.example",))))
    context.minimum_version = context.maximum_version = version
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(incoming, outgoing, server_side=True)
    incoming.write(client_hello())
    with pytest.raises(ssl.SSLWantReadError):
        server.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_servers_answer_with_a_handshake(tmp_path: Path, version: ssl.TLSVersion) -> None:
    expected = re.sub(r"\\x(..)", lambda found: chr(int(found[1], 16)), EXPECTED_ANSWER).encode("latin-1")
    assert answer(tmp_path, version).startswith(expected)


def test_client_hello_is_written_in_the_notation_of_monitors() -> None:
    text = encode_for_monitor_string(client_hello())
    assert re.fullmatch(r"(\\x[0-9a-f]{2})+", text) and text.startswith("\\x16\\x03\\x01")
    assert len(client_hello()) == 5 + int.from_bytes(client_hello()[3:5]) and len(text) < 1_000
