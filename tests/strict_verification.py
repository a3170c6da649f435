"""TLS clients that verify strictly (RFC 5280), as those of Python 3.13 and newer do by default."""

import shutil
import ssl
import subprocess
from pathlib import Path

NEWER = ("python3.13", "python3.14", "python3.15")
"""Interpreters whose default context verifies strictly."""
_CLIENT = """
import ssl, sys
sys.path.insert(0, sys.argv[1])
from tests.strict_verification import handshake
context = ssl.create_default_context(cafile=sys.argv[2])
assert context.verify_flags & ssl.VERIFY_X509_STRICT
handshake(context, *sys.argv[3:6])
"""


def verify_strictly(authority: Path, chain: Path, key: Path, name: str) -> None:
    """A handshake of this interpreter's clients. Raises :class:`ssl.SSLError`."""
    context = ssl.create_default_context(cafile=authority)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    handshake(context, chain, key, name)


def handshake(client: ssl.SSLContext, chain: Path, key: Path, name: str) -> None:
    """In memory, with a server that has this certificate. Raises :class:`ssl.SSLError`."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain, key)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server, server_hostname=name), server.wrap_bio(to_server, to_client, True)]
    for _ in range(10):
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)
    assert not ends


def newer_python() -> str | None:
    """The path of an interpreter that verifies strictly by default; None: there is none."""
    found = [path for name in NEWER if (path := shutil.which(name))]
    found += map(str, (Path.home() / ".pyenv" / "versions").glob("3.1[3-9]*/bin/python3"))
    return next((path for path in found if not subprocess.run([path, "-c", ""], capture_output=True).returncode), None)


def verify_by(python: str, authority: Path, chain: Path, key: Path, name: str) -> None:
    """A handshake of another interpreter's default clients."""
    arguments = [str(Path(__file__).parents[1]), str(authority), str(chain), str(key), name]
    done = subprocess.run([python, "-c", _CLIENT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
