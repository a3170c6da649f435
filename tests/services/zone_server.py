"""A little primary name server of our own, which can be told to refuse updates, and to fail."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import dns.message
import dns.rcode
import dns.update

from evenkeel.demo.acme import zone_server as demo
from tests.services.name_server import NameServer

KEY_NAME = "evenkeel-key"
SECRET = "c2VjcmV0LW9mLXRoaXJ0eS10d28tYnl0ZXMtaW4tYWxs"
KEY_FILE = demo.key_text(KEY_NAME, SECRET)


class ZoneServer(NameServer, demo.ZoneServer):
    """Serves one zone as long as its context lasts."""

    def __init__(
        self, zone: str, addresses: Mapping[str, Sequence[str]] | None = None, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        demo.ZoneServer.__init__(self, zone, addresses or {}, key_name=KEY_NAME, secret=SECRET, host=host, port=port)
        self.refuses = False
        self.denied: set[str] = set()
        """Names that updates may not change."""
        self.hangs = False
        self.signs = True
        self.hides = False
        """Whether queries are answered as if it had no TXT records."""
        self.updates: list[str] = []
        """Accepted changes: + or -, name and value."""

    def texts(self, name: str) -> set[str]:
        """Values of the TXT records of a name."""
        return {value.strip('"') for value in self.records.get((name, "TXT"), ())}

    def values(self, name: str, kind: str) -> set[str]:
        return set() if kind == "TXT" and self.hides else super().values(name, kind)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.hangs:
            await reader.read()  # until the client gives up
            writer.close()
        else:
            await super().serve(reader, writer)

    def sign_response(self, response: dns.message.Message) -> bytes:
        if not self.signs:
            response.tsig = None
            response.keyring = None
        return super().sign_response(response)

    def apply_update(self, update: dns.message.Message) -> dns.rcode.Rcode:
        names = update.update if isinstance(update, dns.update.UpdateMessage) else []
        if self.refuses or self.denied & {rrset.name.to_text(omit_final_dot=True) for rrset in names}:
            return dns.rcode.REFUSED
        return super().apply_update(update)

    def change_record(self, name: str, kind: str, value: str, *, removes: bool) -> None:
        super().change_record(name, kind, value, removes=removes)
        self.updates.append(f"{'-' if removes else '+'} {name} {value}")


def write_key(folder: Path) -> Path:
    """Write the file with the server's key."""
    return ZoneServer("example.org").write_key(folder / "tsig.key")
