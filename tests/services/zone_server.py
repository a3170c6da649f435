"""A little primary name server of our own: it takes dynamic updates (RFC 2136) of TXT records over TCP, signed by its
TSIG key, and answers queries over UDP."""

import asyncio
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.tsig
import dns.update

from tests.services.name_server import NameServer

KEY_NAME = "evenkeel-key"
SECRET = "c2VjcmV0LW9mLXRoaXJ0eS10d28tYnl0ZXMtaW4tYWxs"
KEY_FILE = f'key "{KEY_NAME}" {{\n\talgorithm hmac-sha256;\n\tsecret "{SECRET}";\n}};\n'


class ZoneServer(NameServer):
    """Serves one zone."""

    def __init__(
        self, zone: str, records: Mapping[str, Sequence[str]] | None = None, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        super().__init__(records or {}, host=host, port=port)
        self.zone = zone
        self.key = dns.tsig.Key(KEY_NAME, SECRET)
        self.refuses = False
        self.denied: set[str] = set()
        """Names that updates may not change."""
        self.hangs = False
        self.signs = True
        self.hides = False
        """Whether queries are answered as if it had no TXT records."""
        self.updates: list[str] = []
        """Accepted changes: + or -, name and value."""
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        # The port that is free for one protocol may be taken for the other one.
        for attempt in range(20):
            await super().__aenter__()
            host, _, port = self.address.partition(":")
            try:
                self._server = await asyncio.start_server(self._serve, host, int(port))
            except OSError:
                await super().__aexit__()
                if attempt == 19:
                    raise
            else:
                break
        return self

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        if self._server is not None:
            self._server.close()

    def texts(self, name: str) -> set[str]:
        """Values of the TXT records of a name."""
        return {value.strip('"') for value in self.others.get((name, "TXT"), ())}

    def values(self, name: str, kind: str) -> set[str]:
        return set() if kind == "TXT" and self.hides else super().values(name, kind)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("!H", await reader.readexactly(2))
        wire = await reader.readexactly(length)
        if self.hangs:
            await reader.read()  # until the client gives up
        else:
            answer = self._answer(wire)
            writer.write(struct.pack("!H", len(answer)) + answer)
        writer.close()

    def _answer(self, wire: bytes) -> bytes:
        try:
            update = dns.message.from_wire(wire, keyring={self.key.name: self.key})
        except dns.message.UnknownTSIGKey:
            return self._unsigned(wire, dns.rcode.BADKEY)
        except dns.tsig.BadSignature:
            return self._unsigned(wire, dns.rcode.BADSIG)
        response = dns.message.make_response(update)
        if not self.signs:
            response.tsig = None
            response.keyring = None
        response.set_rcode(self._take(update))
        return response.to_wire()

    def _unsigned(self, wire: bytes, error: dns.rcode.Rcode) -> bytes:
        query = dns.message.from_wire(wire, keyring=False)
        response = dns.message.make_response(query)
        response.set_rcode(dns.rcode.NOTAUTH)
        response.use_tsig(dns.tsig.Key(query.keyname or "none", SECRET), tsig_error=error)
        return response.to_wire()

    def _take(self, update: dns.message.Message) -> dns.rcode.Rcode:
        if self.refuses or not isinstance(update, dns.update.UpdateMessage) or not update.had_tsig:
            return dns.rcode.REFUSED
        if update.zone[0].name != dns.name.from_text(self.zone):
            return dns.rcode.NOTAUTH
        if self.denied & {rrset.name.to_text(omit_final_dot=True) for rrset in update.update}:
            return dns.rcode.REFUSED
        for rrset in update.update:
            name = rrset.name.to_text(omit_final_dot=True)
            values = self.others.setdefault((name, dns.rdatatype.to_text(rrset.rdtype)), set())
            for rdata in rrset:
                deletes = rrset.deleting == dns.rdataclass.NONE
                (values.discard if deletes else values.add)(rdata.to_text())
                self.updates.append(f"{'-' if deletes else '+'} {name} {rdata.to_text()}")
        return dns.rcode.NOERROR


def write_key(folder: Path) -> Path:
    """Write the file with the server's key."""
    file = folder / "tsig.key"
    file.touch(0o600)
    file.write_text(KEY_FILE)
    return file
