"""The commands of one client connection, as in F5's reference: `HTTP::…`, `SSL::…`, `IP::…`, `pool`, `class`."""

from __future__ import annotations

import ipaddress
import time

import structlog

from icontrol_emulator.irules import certificates, lists, strings, values
from icontrol_emulator.irules.classes import ClassCommand
from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.http import HttpCommands
from icontrol_emulator.irules.interpreter import Do, Interpreter, Unknown, joined, split
from icontrol_emulator.irules.payload import PAYLOAD_BYTES_MAX, Payload
from icontrol_emulator.irules.persistence import PersistCommand, PersistRecords, PersistRequest
from icontrol_emulator.irules.state import Decision, Flow, Message
from icontrol_emulator.irules.tables import SessionTable
from icontrol_emulator.irules.text import TEXTS
from icontrol_emulator.irules.tls import TlsCommands

log = structlog.get_logger(__name__)


class DeviceCommands:
    """Bound to one connection; `message` is the request, or in response events the response."""

    def __init__(
        self, flow: Flow, *, table: SessionTable | None = None, records: PersistRecords | None = None
    ) -> None:  # fmt: skip
        self._flow = flow
        self.message: Message | None = None
        self.request: Message | None = None
        self.decision = Decision()
        self.body = Payload()
        self.stream = Payload()
        """The client's bytes that `TCP::collect` holds."""
        self.said: list[tuple[bool, bytes]] = []
        """The output of `TCP::respond`: whether to the server, and the bytes."""
        self.requests = 0
        self.dropped = False
        """Whether a rule ended the connection without telling the client."""
        self.member: tuple[str, int] | None = None
        """The address and port of the member selected last."""
        self.member_pool = ""
        self.reselected = False
        self.disabled: set[str] = set()
        """Events that a rule disabled; `all` stands for every one."""
        self.tls = TlsCommands(flow)
        self.table: dict[str, Do] = {
            **certificates.COMMANDS, **TEXTS, **HttpCommands(self).table(), **self.tls.table(), **self._network(),
            "class": ClassCommand(flow.group), "pool": self._pool, "node": self._node, "virtual": self._virtual,
            "reject": self._reject, "drop": self._drop, "discard": self._drop, "log": self._log,
            "event": self._event, "LB::server": self._server, "active_members": self._active_members,
            "LB::reselect": self._reselect, "LB::detach": lambda tcl, words: "",
            "BWC::policy": lambda tcl, words: "",  # connections are not slowed down
            "SSL::disable": self._server_tls(on=False),
            "SSL::enable": self._server_tls(on=True), "HSL::open": self._open_log, "HSL::send": self._send_log,
            **lists.COMMANDS, **values.COMMANDS, **strings.COMMANDS,
            "table": table or SessionTable(time.time),
        }  # fmt: skip
        if records is not None:
            self.table["persist"] = PersistCommand(records, self._persist)

    def _network(self) -> dict[str, Do]:
        """Addresses and ports; those of SCTP and UDP are commands of their own names."""
        flow = self._flow
        own: dict[str, Do] = {
            "IP::client_addr": lambda tcl, words: flow.client[0],
            "IP::remote_addr": self._remote_address,
            "IP::local_addr": lambda tcl, words: flow.local[0],
            "IP::server_addr": lambda tcl, words: self.member[0] if self.member else "",
            "IP::stats": self._statistics,
            "IP::addr": _address, "IP::protocol": lambda tcl, words: "6", "IP::version": self._version,
            "TCP::client_port": lambda tcl, words: str(flow.client[1]),
            "TCP::remote_port": lambda tcl, words: str(flow.client[1]),
            "TCP::local_port": lambda tcl, words: str(flow.local[1]),
            "TCP::server_port": lambda tcl, words: str(self.member[1]) if self.member else "",
            "TCP::close": self._reject, "TCP::respond": self._respond, "TCP::collect": self._collect,
            "TCP::release": self._release, "TCP::payload": lambda tcl, words: self.stream.command(words),
        }  # fmt: skip
        shared = ("client_port", "local_port", "remote_port", "respond", "server_port")
        return own | {f"{word}::{name}": own[f"TCP::{name}"] for word in ("SCTP", "UDP") for name in shared}

    def _remote_address(self, tcl: Interpreter, words: list[str]) -> str:
        return self._flow.client[0]

    def _version(self, tcl: Interpreter, words: list[str]) -> str:
        return "6" if ":" in self._flow.client[0] else "4"

    # -- choices

    def _pool(self, tcl: Interpreter, words: list[str]) -> str:
        if len(words) == 4 and words[1] == "member":
            self._known_pool(words[0])
            self.decision.forward("node", words[2], int(words[3]))
        elif len(words) == 1:
            self._known_pool(words[0])
            self.decision.forward("pool", words[0])
        else:
            raise Failed(f"wrong # args: pool {' '.join(words)[:100]}")
        return ""

    def _known_pool(self, name: str) -> int:
        members = self._flow.pool_members(name)
        if members is None:
            raise Failed(f"no such pool: {name[:200]}")
        return members

    def _node(self, tcl: Interpreter, words: list[str]) -> str:
        host, _, port = words[0].partition(":") if words[0].count(":") == 1 else (words[0], "", "")
        self.decision.forward("node", host, int(words[1] if len(words) > 1 else port or 0))
        return ""

    def _virtual(self, tcl: Interpreter, words: list[str]) -> str:
        if words in ([], ["name"]):
            return self._flow.virtual
        self.decision.forward("virtual", words[0])
        return ""

    def _reject(self, tcl: Interpreter, words: list[str]) -> str:
        self.decision.rejected = True
        return ""

    def _drop(self, tcl: Interpreter, words: list[str]) -> str:
        self.dropped = True
        return self._reject(tcl, words)

    def _statistics(self, tcl: Interpreter, words: list[str]) -> str:
        """`IP::stats bytes in|out`: the client's bytes on this connection; packets cannot be seen here."""
        match words:
            case ["bytes", "in" | "out" as direction]:
                return str(self._flow.carried_bytes(direction))
        raise Unknown(f"IP::stats {' '.join(words)[:50]}")

    def _reselect(self, tcl: Interpreter, words: list[str]) -> str:
        """`LB::reselect [pool NAME|node ADDRESS [PORT]|virtual NAME]`."""
        self.reselected = True
        match words:
            case ["pool", name]:
                return self._pool(tcl, [name])
            case ["node", *place]:
                return self._node(tcl, place)
            case ["virtual", name]:
                return self._virtual(tcl, [name])
        return ""

    def _persist(self, asked: PersistRequest) -> None:
        self.decision.persist = asked

    def _server_tls(self, *, on: bool) -> Do:
        def do(tcl: Interpreter, words: list[str]) -> str:
            if words[:1] != ["serverside"]:
                raise Unknown("SSL::enable and SSL::disable without serverside")
            self.decision.server_tls = on
            return ""

        return do

    # -- bytes of the connection

    def _respond(self, tcl: Interpreter, words: list[str]) -> str:
        to_server = tcl.current_event in ("SERVER_CONNECTED", "SERVER_CLOSED")
        self.said.append((to_server, certificates.as_bytes(words[0])))
        return ""

    def _collect(self, tcl: Interpreter, words: list[str]) -> str:
        self.stream.wanted = int(words[0]) if words else 1
        if not 0 < self.stream.wanted <= PAYLOAD_BYTES_MAX:
            raise Failed(f"TCP::collect {words[0][:20]} is out of range")
        return ""

    def _release(self, tcl: Interpreter, words: list[str]) -> str:
        self.stream.wanted = 0
        return str(len(self.stream.data))

    def _active_members(self, tcl: Interpreter, words: list[str]) -> str:
        """`active_members POOL`: the number of usable members."""
        if words[0].startswith("-"):
            raise Unknown(f"active_members {words[0]}")
        return str(self._known_pool(words[0]))

    def _server(self, tcl: Interpreter, words: list[str]) -> str:
        """`LB::server [addr|port|pool|name]`: the server that is selected, or will be selected from."""
        pool = self.member_pool or self.decision.pool
        address, port = self.member or ("", 0)
        match words:
            case []:
                return " ".join(part for part in (pool, address, str(port) if port else "") if part)
            case ["addr"]:
                return address
            case ["port"]:
                return str(port)
            case ["pool"]:
                return pool
            case ["name"]:
                return address
        raise Unknown(f"LB::server {' '.join(words)[:50]}")

    # -- the rest

    def _event(self, tcl: Interpreter, words: list[str]) -> str:
        """`event [NAME] enable|disable [all]`."""
        names = {word for word in words if word not in ("enable", "disable")} or {tcl.current_event}
        if "disable" in words:
            self.disabled |= names
        elif "all" in names:
            self.disabled.clear()
        else:
            self.disabled -= names
        return ""

    def _open_log(self, tcl: Interpreter, words: list[str]) -> str:
        """`HSL::open -proto UDP|TCP -pool NAME`, or `-publisher NAME`, whose messages go to the emulator's own log.

        The handle is what it was opened with.
        """
        match words:
            case ["-proto", "UDP" | "TCP" as protocol, "-pool", name]:
                self._known_pool(name)
                return joined([protocol, name])
            case ["-publisher" | "-pub", _]:
                return joined(words)
        raise Failed(f"HSL::open {' '.join(words)[:100]}: -proto UDP or TCP and -pool, or -publisher are possible")

    def _send_log(self, tcl: Interpreter, words: list[str]) -> str:
        """`HSL::send HANDLE DATA`: 1 if the data was sent, else 0."""
        match split(words[0]) if len(words) == 2 else []:
            case ["UDP" | "TCP" as protocol, pool]:
                return str(int(self._flow.send_log(protocol, pool, certificates.as_bytes(words[1]))))
            case ["-publisher" | "-pub", _]:
                self._log(tcl, words)
                return "1"
        raise Failed("HSL::send: a handle of HSL::open and data are needed")

    def _log(self, tcl: Interpreter, words: list[str]) -> str:
        log.info("rule", virtual=self._flow.virtual, message=words[-1][:1000] if words else "")
        return ""


def _address(tcl: Interpreter, words: list[str]) -> str:
    """`IP::addr A equals B[/MASK]`, `IP::addr A mask MASK`; `IP::addr parse` is not supported."""
    try:
        match words:
            case [first, "equals", second]:
                network = ipaddress.ip_network(_plain(second), strict=False)
                # both sides may have a mask, which then applies to the other one
                other = ipaddress.ip_network(_plain(first), strict=False)
                return str(int(network.version == other.version and other.network_address in network))
            case [first, "mask", mask]:
                return str(ipaddress.ip_network(f"{_plain(first)}/{mask}", strict=False).network_address)
    except ValueError as error:
        raise Failed(f"bad IP address format: {error}") from error
    raise Unknown(f"IP::addr {' '.join(words)[:50]}")


def _plain(address: str) -> str:
    """The address or network without a route domain."""
    host, slash, mask = address.partition("/")
    return f"{host.partition('%')[0]}{slash}{mask}"
