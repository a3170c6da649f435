"""`SSL::…`: commands for the TLS connection to the client, as in F5's reference."""

from __future__ import annotations

from icontrol_emulator.irules import certificates
from icontrol_emulator.irules.interpreter import Do, Interpreter, Unknown
from icontrol_emulator.irules.state import Flow


class TlsCommands:
    """Bound to one connection."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.asked_name = ""
        """The server name that a rule put into the ClientHello to a member."""

    def table(self) -> dict[str, Do]:
        flow = self._flow
        return {
            "SSL::cert": self._cert, "SSL::extensions": self._extensions,
            "SSL::verify_result": lambda tcl, words: str(flow.verdict),
            "SSL::sni": lambda tcl, words: flow.server_name,
            "SSL::cipher": lambda tcl, words: flow.cipher.get(words[0], ""),
            "PROFILE::exists": lambda tcl, words: str(int(words[0] == "clientssl" and flow.secure)),
        }  # fmt: skip

    def _cert(self, tcl: Interpreter, words: list[str]) -> str:
        chain = self._flow.chain
        if words[0] == "count":
            return str(len(chain))
        at = int(words[1]) + 1 if words[0] == "issuer" else int(words[0])
        return certificates.as_text(chain[at]) if 0 <= at < len(chain) else ""

    def _extensions(self, tcl: Interpreter, words: list[str]) -> str:
        """Read the server name (type 0) of a ClientHello's extensions; no other is supported."""
        known = server_name_extension(self._flow.server_name) if self._flow.server_name else b""
        what = words[0]
        if what == "insert":
            self.asked_name = name_in_extension(certificates.as_bytes(words[1]))
            return ""
        if what == "count":
            return "1" if known else "0"
        if words[-2] != "-type":
            raise Unknown("SSL::extensions " + " ".join(words))
        found = known if words[-1] == "0" else b""
        return ("1" if found else "0") if what == "exists" else certificates.as_text(found)


def server_name_extension(name: str) -> bytes:
    """The server_name extension (RFC 6066, section 3), including type and length."""
    host = name.encode("ascii", "replace")
    entry = b"\0" + len(host).to_bytes(2, "big") + host
    listed = len(entry).to_bytes(2, "big") + entry
    return b"\0\0" + len(listed).to_bytes(2, "big") + listed


def name_in_extension(data: bytes) -> str:
    """The server name in such an extension, empty for other extensions."""
    if len(data) < 9 or data[:2] != b"\0\0":
        return ""
    return data[9 : 9 + int.from_bytes(data[7:9], "big")].decode("ascii", "replace")
