"""The iRules of one client connection: runs their event handlers and applies their effects to messages."""

from __future__ import annotations

from collections.abc import Mapping

import structlog
from OpenSSL import SSL

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.references import qualify
from icontrol_emulator.dataplane.http_wire import BadMessage, Head
from icontrol_emulator.dataplane.streams import Stream
from icontrol_emulator.dataplane.tls.transport import TlsTransport
from icontrol_emulator.irules.commands import Decision, DeviceCommands, Flow, Message
from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Interpreter, Unknown
from icontrol_emulator.irules.syntax import Handler, SyntaxFault, handlers

log = structlog.get_logger(__name__)

DATA_GROUP = "ltm/data-group/internal"


class RuleFailed(BadMessage):
    """A rule ended with an error: the connection is reset, as on a device."""


class Rules:
    """Event handlers of all rules of a virtual server, by priority and then in the virtual server's order."""

    def __init__(self, engine: Engine, virtual: Obj, client: Stream) -> None:
        self._engine = engine
        self._virtual = virtual
        self._handlers: list[tuple[str, Handler]] = []
        for path in virtual.props.get("rules") or ():
            self._take(path)
        self._handlers.sort(key=lambda each: each[1].priority)
        if self._handlers:
            self._commands = DeviceCommands(_flow(self, virtual, client))
            self._tcl = Interpreter(self._commands.table)

    def _take(self, path: str) -> None:
        rule = self._engine.store.get(Key("ltm/rule", "", path))
        try:
            found = handlers(str(rule.props.get("apiAnonymous", ""))) if rule is not None else ()
        except SyntaxFault as error:
            log.warning("rule left out", rule=path, error=str(error))
            return
        self._handlers += [(path, each) for each in found]

    def connected(self, *, secure: bool, asked_for_certificate: bool) -> bool:
        """Run the handlers of events before the first byte; returns whether the connection continues."""
        events = ["CLIENT_ACCEPTED"]
        if secure:
            events.append("CLIENTSSL_CLIENTHELLO")
            events += ["CLIENTSSL_CLIENTCERT"] if asked_for_certificate else []
            events.append("CLIENTSSL_HANDSHAKE")
        for event in events:
            self._run(event)
        return not self._handlers or not self._commands.decision.rejected

    def name_for_member(self) -> str:
        """Run SERVERSSL_CLIENTHELLO_SEND; returns the server name (SNI) that it sets, empty if none."""
        if not self._handlers:
            return ""
        self._commands.asked_name = ""
        self._run("SERVERSSL_CLIENTHELLO_SEND")
        return self._commands.asked_name

    @property
    def pool(self) -> str:
        """Path of the pool that a rule selected, empty if none did."""
        name = self._commands.decision.pool if self._handlers else ""
        return qualify(self._engine.store, "ltm/pool", self._virtual.partition, "", name) if name else ""

    def request(self, head: Head) -> Decision:
        """Run HTTP_REQUEST, which may change the header."""
        if not self._handlers:
            return Decision()
        kept = self._commands.decision.pool
        message = _message(head)
        self._commands.message = self._commands.request = message
        self._commands.decision = Decision(pool=kept)
        self._run("HTTP_REQUEST")
        _write(head, message)
        decision = self._commands.decision
        decision.pool = self.pool
        self._commands.decision = Decision(pool=kept)
        return decision

    def response(self, head: Head) -> None:
        """Run HTTP_RESPONSE, which may change the header."""
        if not self._handlers:
            return
        message = _message(head)
        self._commands.message = message
        self._run("HTTP_RESPONSE")
        _write(head, message)

    def _run(self, event: str) -> None:
        for each in [each for each in self._handlers if each[1].event == event]:
            try:
                self._tcl.event(each[1].script)
            except Failed as error:
                log.warning("rule failed", rule=each[0], rule_event=event, error=str(error))
                raise RuleFailed(str(error)) from error
            except Unknown as error:
                log.warning("rule left out", rule=each[0], rule_event=event, unknown_command=str(error))
                self._handlers = [other for other in self._handlers if other[0] != each[0]]

    def records(self, name: str) -> Mapping[str, str] | None:
        path = qualify(self._engine.store, "ltm/data-group", self._virtual.partition, "", name)
        group = self._engine.store.find(Target("ltm/data-group", path))
        if group is None:
            return None
        return {str(record["name"]): str(record["data"]) for record in group.props.get("records") or ()}


def _message(head: Head) -> Message:
    start = head.start.decode("latin-1").split(" ", 2)
    pairs = (line.decode("latin-1").partition(":") for line in head.lines)
    return Message([*start, "", ""][:3], [(name.strip(), value.strip()) for name, _, value in pairs])


def _write(head: Head, message: Message) -> None:
    head.start = " ".join(message.start).rstrip().encode("latin-1", "replace")
    head.lines = [f"{name}: {value}".encode("latin-1", "replace") for name, value in message.headers]


def _flow(rules: Rules, virtual: Obj, client: Stream) -> Flow:
    peer = client.writer.get_extra_info("peername") or ("", 0)
    local = client.writer.get_extra_info("sockname") or ("", 0)
    tls = client.writer.get_extra_info("tls")
    secure = isinstance(tls, TlsTransport)
    return Flow(
        client=peer[:2], local=local[:2], virtual=virtual.key.path, records=rules.records, secure=secure,
        chain=tls.sent_chain() if secure else (), verdict=tls.verdict.error if secure else 0,
        server_name=(tls.connection.get_servername() or b"").decode("latin-1") if secure else "",
        cipher=_cipher(tls.connection) if secure else {},
    )  # fmt: skip


def _cipher(connection: SSL.Connection) -> dict[str, str]:
    return {
        "name": connection.get_cipher_name() or "",
        "version": connection.get_protocol_version_name(),
        "bits": str(connection.get_cipher_bits() or 0),
    }
