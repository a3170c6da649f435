"""Servers beside the controllers, from which they request certificates."""

from pathlib import Path

from evenkeel.demo.acme.name_server import NameServer
from evenkeel.demo.acme.server import AcmeServer
from evenkeel.demo.authority import CertificateAuthority
from evenkeel.demo.configuration import Sections


class OnlineAuthority:
    """The authority's ACME server and a name server, which know one name with its address. ``root_file``: file with the
    authority's certificate."""

    def __init__(self, authority: CertificateAuthority, name: str, address: str, root_file: Path) -> None:
        self._server = AcmeServer(authority, {name: address})
        self._names = NameServer({name: address})
        self._root_file = root_file

    async def start(self) -> Sections:
        """Begin to answer; returns the controllers' options."""
        self._server.start()
        return {
            "acme": {
                "directory_url": self._server.directory_url,
                "contact": "operators@example.org",
                "ssl_ca_crt_file": self._root_file,
                "name_servers": await self._names.start(),
            }
        }

    def close(self) -> None:
        """Stop both servers."""
        self._names.close()
        self._server.close()
