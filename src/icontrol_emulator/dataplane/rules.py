"""The policies and iRules of one client connection: run at each event, policies first, as on a device."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from OpenSSL import SSL

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.references import qualify
from icontrol_emulator.dataplane.balance import Balancer
from icontrol_emulator.dataplane.http_wire import BadMessage, Head
from icontrol_emulator.dataplane.policies.matching import Sight
from icontrol_emulator.dataplane.policies.program import Programs
from icontrol_emulator.dataplane.policies.run import Effects, Pending, PolicyRun
from icontrol_emulator.dataplane.script_counters import ScriptCounters
from icontrol_emulator.dataplane.streams import Stream
from icontrol_emulator.dataplane.tls.transport import TlsTransport
from icontrol_emulator.irules.commands import DeviceCommands
from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Interpreter, Unknown
from icontrol_emulator.irules.state import Answer, DataGroup, Decision, Flow, Message
from icontrol_emulator.irules.syntax import Handler, SyntaxFault, handlers, parts

log = structlog.get_logger(__name__)


class RuleFailed(BadMessage):
    """A rule ended with an error: the connection is reset, as on a device."""


@dataclass(frozen=True, slots=True)
class Scripts:
    """What the rules of all connections of a device share."""

    engine: Engine
    balancer: Balancer
    programs: Programs
    counters: ScriptCounters


@dataclass(slots=True)
class Exchange:
    """A request and what was decided for it."""

    decision: Decision
    request: Message
    pending: Pending


class Rules:
    """Event handlers of all rules of a virtual server, by priority and then in the virtual server's order."""

    def __init__(self, scripts: Scripts, virtual: Obj, client: Stream, peer: tuple[str, int]) -> None:
        self._engine = scripts.engine
        self._scripts = scripts
        self._virtual = virtual
        self._handlers: list[tuple[str, Handler]] = []
        for path in virtual.props.get("rules") or ():
            self._take(path)
        self._handlers.sort(key=lambda each: each[1].priority)
        self._flow = _flow(self, virtual, client, peer)
        self._commands = DeviceCommands(self._flow)
        self._tcl = Interpreter(self._commands.table)
        self._policies = PolicyRun(scripts.programs.of(virtual), self._expand, self._assign, scripts.counters)
        self._pending = Pending()

    def _take(self, path: str) -> None:
        rule = self._engine.store.get(Key("ltm/rule", "", path))
        try:
            found = handlers(str(rule.props.get("apiAnonymous", ""))) if rule is not None else ()
        except SyntaxFault as error:
            log.warning("rule left out", rule=path, error=str(error))
            return
        self._handlers += [(path, each) for each in found]

    @property
    def _idle(self) -> bool:
        return not self._handlers and not self._policies.programs

    def _expand(self, text: str) -> str:
        """A text of a policy with its commands and variables replaced."""
        try:
            return self._tcl.expand(parts(text))
        except (Failed, Unknown, SyntaxFault) as error:
            raise RuleFailed(str(error)) from error

    def _assign(self, name: str, value: str) -> None:
        self._tcl.variables[name] = value

    # -- the connection

    def connected(self, *, secure: bool, asked_for_certificate: bool) -> bool:
        """Run the events before the first byte; returns whether the connection continues."""
        if self._idle:
            return True
        self._policy_event("clientAccepted", Effects(self._commands.decision))
        self._run("CLIENT_ACCEPTED")
        if secure:
            self._policy_event("sslClientHello", Effects(self._commands.decision))
            self._run("CLIENTSSL_CLIENTHELLO")
            if asked_for_certificate:
                self._run("CLIENTSSL_CLIENTCERT")
            self._run("CLIENTSSL_HANDSHAKE")
        return not self._commands.decision.rejected

    def _policy_event(self, event: str, effects: Effects) -> None:
        self._policies.run(event, Sight(self._flow), self._pending, effects)

    def name_for_member(self) -> str:
        """Run SERVERSSL_CLIENTHELLO_SEND; returns the server name (SNI) that it sets, empty if none."""
        if not self._handlers:
            return ""
        self._commands.tls.asked_name = ""
        self._run("SERVERSSL_CLIENTHELLO_SEND")
        return self._commands.tls.asked_name

    @property
    def decision(self) -> Decision:
        """What was decided for the connection."""
        return self._qualified(self._commands.decision.on_the_connection())

    def _qualified(self, decision: Decision) -> Decision:
        if decision.pool:
            decision.pool = self._full("ltm/pool", decision.pool)
        if decision.virtual:
            decision.virtual = self._full("ltm/virtual", decision.virtual)
        return decision

    def _full(self, family: str, name: str) -> str:
        return qualify(self._engine.store, family, self._virtual.partition, "", name)

    # -- requests and responses

    def request(self, head: Head) -> Exchange:
        """Run HTTP_REQUEST, which may change the header."""
        if self._idle:
            return Exchange(Decision(), Message(["", "", ""], []), self._pending)
        kept = self._commands.decision.on_the_connection()
        message = _message(head)
        self._commands.message = self._commands.request = message
        self._commands.requests += 1
        decision = self._commands.decision = kept.on_the_connection()
        pending = self._pending.copy()
        self._policies.run("request", Sight(self._flow, message), pending, Effects(decision, message))
        if not decision.rejected:
            self._run("HTTP_REQUEST")
        _write(head, message)
        self._commands.decision = kept
        return Exchange(self._qualified(decision), message, pending)

    def response(self, head: Head, exchange: Exchange) -> Decision:
        """Run HTTP_RESPONSE, which may change the header; returns what it decided."""
        if self._idle:
            return Decision()
        message = _message(head)
        self._commands.message, self._commands.request = message, exchange.request
        kept, self._commands.decision = self._commands.decision, Decision()
        view = Sight(self._flow, exchange.request, message)
        self._policies.run("response", view, exchange.pending, Effects(self._commands.decision, message))
        self._run("HTTP_RESPONSE")
        _write(head, message)
        decided, self._commands.decision = self._commands.decision, kept
        return decided

    def failed(self, exchange: Exchange) -> Answer | None:
        """Run LB_FAILED; returns the response with which a rule answers, if any."""
        if not self._handlers:
            return None
        self._commands.message = self._commands.request = exchange.request
        kept, self._commands.decision = self._commands.decision, Decision()
        self._run("LB_FAILED")
        decided, self._commands.decision = self._commands.decision, kept
        return decided.answer

    def _run(self, event: str) -> None:
        for path, handler in [each for each in self._handlers if each[1].event == event]:
            if {event, "all"} & self._commands.disabled:
                return
            counted = self._scripts.counters.event(path, event)
            counted.executions += 1
            try:
                self._tcl.event(handler.script, event)
            except (Failed, Unknown) as error:
                counted.failures += 1
                log.warning("rule failed", rule=path, rule_event=event, error=str(error))
                raise RuleFailed(str(error)) from error

    # -- what rules look up

    def group(self, name: str) -> DataGroup | None:
        found = self._engine.store.find(Target("ltm/data-group", self._full("ltm/data-group", name)))
        if found is None:
            return None
        records = {str(record["name"]): str(record["data"]) for record in found.props.get("records") or ()}
        return DataGroup(str(found.props.get("type", "string")), records)

    def pool_members(self, name: str) -> int | None:
        path = self._full("ltm/pool", name)
        if self._engine.store.get(Key("ltm/pool", "", path)) is None:
            return None
        return self._scripts.balancer.usable(path)


def _message(head: Head) -> Message:
    start = head.start.decode("latin-1").split(" ", 2)
    pairs = (line.decode("latin-1").partition(":") for line in head.lines)
    return Message([*start, "", ""][:3], [(name.strip(), value.strip()) for name, _, value in pairs])


def _write(head: Head, message: Message) -> None:
    head.start = " ".join(message.start).rstrip().encode("latin-1", "replace")
    head.lines = [f"{name}: {value}".encode("latin-1", "replace") for name, value in message.headers]


def _flow(rules: Rules, virtual: Obj, client: Stream, peer: tuple[str, int]) -> Flow:
    local = client.writer.get_extra_info("sockname") or ("", 0)
    tls = client.writer.get_extra_info("tls")
    secure = isinstance(tls, TlsTransport)
    return Flow(
        client=peer, local=local[:2], virtual=virtual.key.path, group=rules.group,
        pool_members=rules.pool_members, secure=secure,
        chain=tls.sent_chain() if secure else (), verdict=tls.verdict.error if secure else 0,
        server_name=(tls.connection.get_servername() or b"").decode("latin-1") if secure else "",
        application_protocol=str(tls.protocol_chosen or "") if secure else "",
        cipher=_cipher(tls.connection) if secure else {},
    )  # fmt: skip


def _cipher(connection: SSL.Connection) -> dict[str, str]:
    return {
        "name": connection.get_cipher_name() or "",
        "version": connection.get_protocol_version_name(),
        "bits": str(connection.get_cipher_bits() or 0),
    }
