"""An ACME server and a name server in this process, from which controllers request certificates."""

from pathlib import Path

from evenkeel.demo.acme.name_server import NameServer
from evenkeel.demo.acme.server import AcmeServer, dns_challenge_method, http_challenge_method
from evenkeel.demo.acme.zone_server import ZoneServer
from evenkeel.demo.authority import CertificateAuthority
from evenkeel.demo.configuration import Sections

PROJECT_ID = "default"
"""Project of callers that do not authenticate."""
KEY_FILE = "zone.key"


class AcmeDemoAuthority:
    """Runs an ACME server of ``authority`` and a name server; both know ``name`` with its address.

    ``directory``: where the TSIG key is written; ``root_file``: file with the authority's certificate.
    ``zone``: the DNS zone in which the name is proven, by dns-01; empty: it is proven by http-01, at port 80
    of its address.
    """

    def __init__(
        self, authority: CertificateAuthority, name: str, address: str, directory: Path, root_file: Path, *, zone: str
    ) -> None:
        self._authority = authority
        self._addresses = {name: address}
        self._key_file = directory.resolve() / KEY_FILE
        self._root_file = root_file
        self._zone = zone
        self._names: NameServer | None = None
        self._server: AcmeServer | None = None

    async def start(self) -> Sections:
        """Start both servers; returns the ini sections with which controllers use them. Raises
        :class:`OSError`.
        """
        known = {name: (address,) for name, address in self._addresses.items()}
        if not self._zone:
            self._names = NameServer(known)
            place = await self._names.start()
            return self._start_server(AcmeServer(self._authority, http_challenge_method(self._addresses)), place)
        self._names = zone = ZoneServer(self._zone, known)
        place = await zone.start()
        options = {
            "zone": self._zone,
            "projects": PROJECT_ID,
            "server": place,
            "name_servers": place,
            "tsig_key_file": zone.write_key(self._key_file),
        }
        return {
            **self._start_server(AcmeServer(self._authority, dns_challenge_method(place)), place),
            "dns:demo": options,
        }

    def _start_server(self, server: AcmeServer, name_server: str) -> Sections:
        self._server = server
        server.start()
        return {
            "acme": {
                "directory_url": server.directory_url,
                "contact": "operators@example.org",
                "ssl_ca_crt_file": self._root_file,
                "name_servers": name_server,
            }
        }

    def close(self) -> None:
        """Stop both servers."""
        if self._names is not None:
            self._names.close()
        if self._server is not None:
            self._server.close()
