"""The primary name server of a zone: it takes updates (RFC 2136) over TCP, signed by a TSIG key, and answers queries
over UDP.
"""

import asyncio
import base64
import os
import secrets
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.tsig
import dns.update

from evenkeel.demo.acme.name_server import NameServer

PORT_ATTEMPTS = 20
KEY_BYTES = 32


def key_text(name: str, secret: str) -> str:
    """Return the content of a file with a TSIG key (hmac-sha256), as ``tsig-keygen`` writes it. ``secret``:
    in base64.
    """
    return f'key "{name}" {{\n\talgorithm hmac-sha256;\n\tsecret "{secret}";\n}};\n'


class ZoneServer(NameServer):
    """Serves one DNS zone and takes updates of its records. ``addresses``: addresses by name; ``secret``:
    secret of the TSIG key, in base64; empty: a new one.
    """

    def __init__(
        self,
        zone: str,
        addresses: Mapping[str, Sequence[str]],
        *,
        key_name: str = "evenkeel",
        secret: str = "",
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        super().__init__(addresses, host=host, port=port)
        self.zone = zone
        self.secret = secret or base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()
        self.key = dns.tsig.Key(key_name, self.secret)
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Begin to answer and to take updates, on the same port of UDP and TCP; returns ``address:port``.
        Raises :class:`OSError` if no port is free for both.
        """
        for attempt in range(1, PORT_ATTEMPTS + 1):
            host, _, port = (await super().start()).rpartition(":")
            try:
                self._server = await asyncio.start_server(self.serve, host, int(port))
                break
            except OSError:  # a port that is free for one protocol may be taken for the other one
                super().close()
                if attempt == PORT_ATTEMPTS:
                    raise
        return self.address

    def close(self) -> None:
        """Stop the servers for UDP and TCP, if they were started."""
        super().close()
        if self._server is not None:
            self._server.close()

    def write_key(self, file: Path) -> Path:
        """Write the TSIG key into a new file with mode 0600, as ``tsig-keygen`` does; returns the file.
        Raises :class:`FileExistsError`.
        """
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(key_text(self.key.name.to_text(omit_final_dot=True), self.secret))
        return file

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the one update of a TCP connection, and close it; without an answer if it sends no DNS
        message.
        """
        try:
            (length,) = struct.unpack("!H", await reader.readexactly(2))
            answer = self.answer_update(await reader.readexactly(length))
            writer.write(struct.pack("!H", len(answer)) + answer)
        except (asyncio.IncompleteReadError, dns.exception.DNSException):
            pass  # no DNS message: the connection is closed
        finally:
            writer.close()

    def answer_update(self, wire: bytes) -> bytes:
        """Apply an encoded update and return the encoded answer: NOTAUTH for a wrong key or signature. Raises
        :class:`dns.exception.DNSException` for bytes that are no DNS message, and for a signature of
        another time.
        """
        try:
            update = dns.message.from_wire(wire, keyring={self.key.name: self.key})
        except dns.message.UnknownTSIGKey:
            return self._unsigned_refusal(wire, dns.rcode.BADKEY)
        except dns.tsig.BadSignature:
            return self._unsigned_refusal(wire, dns.rcode.BADSIG)
        response = dns.message.make_response(update)
        response.set_rcode(self.apply_update(update))
        return self.sign_response(response)

    def sign_response(self, response: dns.message.Message) -> bytes:
        """Return the encoded response, signed by dnspython with the key of the update that it answers."""
        return response.to_wire()

    def apply_update(self, update: dns.message.Message) -> dns.rcode.Rcode:
        """Add and delete the single records of an update; return the DNS response code: REFUSED without a
        signature, NOTAUTH for another zone, and nothing is changed then.
        """
        if not isinstance(update, dns.update.UpdateMessage) or not update.had_tsig:
            return dns.rcode.REFUSED
        if update.zone[0].name != dns.name.from_text(self.zone):
            return dns.rcode.NOTAUTH
        for rrset in update.update:
            name, kind = rrset.name.to_text(omit_final_dot=True), dns.rdatatype.to_text(rrset.rdtype)
            for rdata in rrset:
                self.change_record(name, kind, rdata.to_text(), removes=rrset.deleting == dns.rdataclass.NONE)
        return dns.rcode.NOERROR

    def change_record(self, name: str, kind: str, value: str, *, removes: bool) -> None:
        """Add one record with this value, or remove it if ``removes``."""
        values = self.records.setdefault((name, kind), set())
        (values.discard if removes else values.add)(value)

    def _unsigned_refusal(self, wire: bytes, error: dns.rcode.Rcode) -> bytes:
        query = dns.message.from_wire(wire, keyring=False)
        response = dns.message.make_response(query)
        response.set_rcode(dns.rcode.NOTAUTH)
        response.use_tsig(dns.tsig.Key(query.keyname or "none", self.secret), tsig_error=error)
        return response.to_wire()
