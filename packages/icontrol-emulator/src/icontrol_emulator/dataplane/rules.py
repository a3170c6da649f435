"""The policies and iRules of one client connection: run at each event, policies first, as on a device."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from OpenSSL import SSL

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import entry_path
from icontrol_emulator.config.references import qualify
from icontrol_emulator.config.rules.pool import MEMBERS
from icontrol_emulator.dataplane.balance import Balancer, address_of
from icontrol_emulator.dataplane.http_wire import BadMessage, Head
from icontrol_emulator.dataplane.log_messages import LogMessages
from icontrol_emulator.dataplane.persist import COOKIE, PersistKey
from icontrol_emulator.dataplane.policies.matching import Sight
from icontrol_emulator.dataplane.policies.program import Programs
from icontrol_emulator.dataplane.policies.run import Effects, Pending, PolicyRun
from icontrol_emulator.dataplane.script_counters import ScriptCounters
from icontrol_emulator.dataplane.session import ServerSide, Session
from icontrol_emulator.dataplane.streams import Stream
from icontrol_emulator.dataplane.tls.transport import HELLO_BYTES_MAX, TlsTransport, server_name
from icontrol_emulator.irules.commands import DeviceCommands
from icontrol_emulator.irules.expressions import Failed
from icontrol_emulator.irules.interpreter import Exhausted, Interpreter, Unknown
from icontrol_emulator.irules.payload import PAYLOAD_BYTES_MAX
from icontrol_emulator.irules.persistence import Member, PersistRequest
from icontrol_emulator.irules.state import DataGroup, Decision, Flow, Message
from icontrol_emulator.irules.syntax import Handler, SyntaxFault, handlers, parts, procedures
from icontrol_emulator.irules.tables import SessionTable

log = structlog.get_logger(__name__)


SSL_HELLO = "sslClientHello"


class RuleFailed(BadMessage):
    """A rule ended with an error: the connection is reset, as on a device."""


@dataclass(frozen=True, slots=True)
class Scripts:
    """The state that the rules of all connections of a device share."""

    engine: Engine
    balancer: Balancer
    programs: Programs
    counters: ScriptCounters
    table: SessionTable
    logs: LogMessages = field(default_factory=LogMessages)
    static: dict[str, str] = field(default_factory=dict)
    """The variables that begin with `static::`."""
    initialised: dict[str, int] = field(default_factory=dict)
    """The generation of each rule whose RULE_INIT ran."""


@dataclass(slots=True)
class Exchange:
    """A request and what was decided for it."""

    decision: Decision
    request: Message
    pending: Pending
    body: bytes | None = None
    """The body of the request, if it was collected."""


class Rules:
    """Event handlers of all rules of a virtual server, by priority and then in the virtual server's order."""

    def __init__(
        self, scripts: Scripts, session: Session, client: Stream | None, peer: tuple[str, int],
        local: tuple[str, int] = ("", 0), carried_bytes: Callable[[str], int] = lambda direction: 0,
    ) -> None:  # fmt: skip
        """`client` is None for datagrams, which come to `local`. `carried_bytes`: the connection's bytes so far."""
        virtual = session.virtual
        self._engine = scripts.engine
        self._scripts = scripts
        self._virtual = virtual
        self._member: Obj | None = None
        self._persistence = session.persistence
        self._session = session
        self._handlers: list[tuple[str, Handler]] = []
        self._flow = replace(_flow(self, virtual, client, peer, local), carried_bytes=carried_bytes)
        self._commands = DeviceCommands(self._flow, table=scripts.table, records=self)
        self._tcl = Interpreter(self._commands.table, scripts.static)
        for path in rule_paths(self._engine, virtual):
            self._take(path)
        self._handlers.sort(key=lambda each: each[1].priority)
        self._policies = PolicyRun(scripts.programs.of(virtual), self._expand, self._assign, scripts.counters)
        self._pending = Pending()
        self.awaits_hello = not self._flow.secure and any(
            rule.event == SSL_HELLO for program in self._policies.programs for rule in program.rules
        )
        """Whether policies look at the ClientHello of a connection whose TLS is passed through."""

    def _take(self, path: str) -> None:
        rule = self._engine.store.get(Key("ltm/rule", "", path))
        code = str(rule.props.get("apiAnonymous", "")) if rule is not None else ""
        try:
            found = handlers(code)
            named = procedures(code)
        except SyntaxFault as error:
            log.warning("rule left out", rule=path, error=str(error))
            return
        self._handlers += [(path, each) for each in found if each.event != "RULE_INIT"]
        for each in named:
            self._tcl.procedures |= {each.name: each, f"{path}::{each.name}": each}
        if rule is not None and self._scripts.initialised.get(path) != rule.generation:
            self._scripts.initialised[path] = rule.generation
            self._initialise(path, [each for each in found if each.event == "RULE_INIT"])

    def _initialise(self, path: str, found: list[Handler]) -> None:
        """Run RULE_INIT of a rule that is new or changed; a device does it when the rule is written."""
        for each in found:
            counted = self._scripts.counters.event(path, each.event)
            try:
                Interpreter(self._commands.table, self._scripts.static).event(each.script, each.event)
            except (Failed, Unknown) as error:
                counted.failures += 1
                log.warning("rule failed", rule=path, rule_event=each.event, error=str(error))
            counted.ran(0)

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
            self._policy_event(SSL_HELLO, Effects(self._commands.decision))
            self._run("CLIENTSSL_CLIENTHELLO")
            if asked_for_certificate:
                self._run("CLIENTSSL_CLIENTCERT")
            self._run("CLIENTSSL_HANDSHAKE")
        return not self._commands.decision.rejected

    def _policy_event(self, event: str, effects: Effects) -> None:
        self._policies.run(event, Sight(self._flow), self._pending, effects)

    def has(self, event: str) -> bool:
        return any(each.event == event for _, each in self._handlers)

    def hello(self, data: bytes) -> None:
        """Take bytes of the client, kept for the server; decides policies once its ClientHello is complete."""
        stream = self._commands.stream
        stream.data += data.decode("latin-1")
        name = server_name(stream.data.encode("latin-1"))
        if name is None and data and len(stream.data) < HELLO_BYTES_MAX:
            return
        self.awaits_hello = False
        self._flow = replace(self._flow, server_name=name or "")
        self._policy_event(SSL_HELLO, Effects(self._commands.decision))
        if self._commands.decision.rejected:
            raise RuleFailed("rejected")

    @property
    def dropped(self) -> bool:
        """Whether a rule ended the connection without telling the client."""
        return self._commands.dropped

    @property
    def collects(self) -> bool:
        """Whether bytes of the client are to be collected before a server is chosen."""
        return self._commands.stream.wanted > len(self._commands.stream.data)

    def collected(self, data: bytes) -> None:
        """Take bytes of the client; runs CLIENT_DATA once there are as many as a rule requested."""
        stream = self._commands.stream
        stream.data += data.decode("latin-1")
        if len(stream.data) > PAYLOAD_BYTES_MAX:
            raise RuleFailed("too much was collected")
        if len(stream.data) >= stream.wanted or not data:
            stream.wanted = 0
            self._run("CLIENT_DATA")
            if self._commands.decision.rejected:
                raise RuleFailed("rejected")

    def collected_data(self) -> bytes:
        """Take what was collected, for the server."""
        data, self._commands.stream.data = self._commands.stream.data, ""
        return data.encode("latin-1", "replace")

    def said(self, *, to_server: bool) -> bytes:
        """The output of `TCP::respond` since the last call."""
        found = b"".join(data for towards, data in self._commands.said if towards is to_server)
        self._commands.said = [each for each in self._commands.said if each[0] is not to_server]
        return found

    def server_connected(self, side: ServerSide) -> bytes:
        """Run LB_SELECTED and SERVER_CONNECTED; returns what is sent to the server first."""
        if not self._handlers:
            return b""
        self._member = side.member if side.member.key.type == MEMBERS else None
        self._commands.member = side.remote
        self._commands.member_pool = side.member.key.parent
        self._run("LB_SELECTED")
        self._run("SERVER_CONNECTED")
        return self.said(to_server=True)

    def closed(self, event: str) -> None:
        """Run CLIENT_CLOSED or SERVER_CLOSED; errors end nothing any more."""
        with contextlib.suppress(RuleFailed):
            self._run(event)

    # -- `persist add|lookup|delete`

    def _persist_key(self, asked: PersistRequest) -> PersistKey:
        if asked.mode == COOKIE:
            return self._persistence.cookie_key(asked.method, asked.value, asked.expiration)
        return self._persistence.key(asked.mode, asked.value, asked.timeout_seconds)

    def persist_key(self, decision: Decision) -> PersistKey | None:
        return self._persist_key(decision.persist) if decision.persist is not None else None

    def _pool(self) -> str:
        named = self._commands.decision.pool
        if self._member is not None:
            return self._member.key.parent
        return self._full("ltm/pool", named) if named else str(self._virtual.props.get("pool") or "")

    def look_up(self, asked: PersistRequest) -> Member | None:
        found = self._persistence.look_up(self._persist_key(asked), self._pool())
        member = self._engine.store.get(found.member) if found is not None else None
        return Member(member.key.parent, *address_of(member)) if member is not None else None

    def add(self, asked: PersistRequest) -> None:
        if self._member is not None:
            self._persistence.add(self._persist_key(asked), self._member)

    def delete(self, asked: PersistRequest) -> None:
        self._persistence.delete(self._persist_key(asked), self._pool())

    def name_for_member(self) -> str:
        """Run SERVERSSL_CLIENTHELLO_SEND; returns the server name (SNI) that it sets, empty if none."""
        if not self._handlers:
            return ""
        self._commands.tls.asked_name = ""
        self._run("SERVERSSL_CLIENTHELLO_SEND")
        return self._commands.tls.asked_name

    @property
    def decision(self) -> Decision:
        """The decision for the connection."""
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
        self._run("HTTP_RESPONSE_RELEASE")
        _write(head, message)
        decided, self._commands.decision = self._commands.decision, kept
        return decided

    async def body_collected(self, head: Head, exchange: Exchange, read: Callable[[int], Awaitable[bytes]]) -> None:
        """Run HTTP_REQUEST_DATA with the request's body, if a rule requested it; changes the header's length."""
        wanted = self._commands.body.wanted
        if not wanted:
            return
        data = await read(PAYLOAD_BYTES_MAX)
        self._commands.body.data, self._commands.body.wanted = data.decode("latin-1"), 0
        self._commands.message = self._commands.request = exchange.request
        kept, self._commands.decision = self._commands.decision, exchange.decision
        self._run("HTTP_REQUEST_DATA")
        self._qualified(exchange.decision)
        self._commands.decision = kept
        exchange.body = self._commands.body.data.encode("latin-1", "replace")
        exchange.request.remove("Transfer-Encoding")
        exchange.request.replace("Content-Length", str(len(exchange.body)))
        _write(head, exchange.request)

    def sending(self, head: Head, exchange: Exchange) -> None:
        """Run HTTP_REQUEST_SEND and HTTP_REQUEST_RELEASE, which may change the header that goes to the server."""
        if not self.has("HTTP_REQUEST_SEND") and not self.has("HTTP_REQUEST_RELEASE"):
            return
        message = _message(head)
        self._commands.message = self._commands.request = message
        self._run("HTTP_REQUEST_SEND")
        self._run("HTTP_REQUEST_RELEASE")
        _write(head, message)

    def failed(self, exchange: Exchange) -> Decision:
        """Run LB_FAILED; returns what it decided: a response, or another server."""
        if not self._handlers:
            return Decision()
        self._commands.message = self._commands.request = exchange.request
        kept, self._commands.decision = self._commands.decision, Decision()
        self._commands.reselected = False
        self._run("LB_FAILED")
        decided, self._commands.decision = self._commands.decision, kept
        if not self._commands.reselected:
            decided.forward("pool", "")
        return self._qualified(decided)

    @property
    def reselects(self) -> bool:
        """Whether LB_FAILED requested another try."""
        return self._commands.reselected

    def _run(self, event: str) -> None:
        for path, handler in [each for each in self._handlers if each[1].event == event]:
            if {event, "all"} & self._commands.disabled:
                return
            counted = self._scripts.counters.event(path, event)
            try:
                self._tcl.event(handler.script, event)
            except (Failed, Unknown) as error:
                counted.failures += 1
                counted.aborts += isinstance(error, Exhausted)
                log.warning("rule failed", rule=path, rule_event=event, error=str(error))
                raise RuleFailed(str(error)) from error
            finally:
                counted.ran(self._tcl.steps)

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

    def send_log(self, protocol: str, pool: str, data: bytes) -> bool:
        """Send a message to a member of a pool; returns whether there is one that can be reached."""
        member = self._scripts.balancer.choose(self._full("ltm/pool", pool))
        if member is None:
            return False
        try:
            network = self._session.network_of(member)
        except OSError:
            return False
        self._scripts.logs.send(protocol, address_of(member), network, data)
        return True


def _message(head: Head) -> Message:
    start = head.start.decode("latin-1").split(" ", 2)
    pairs = (line.decode("latin-1").partition(":") for line in head.lines)
    return Message([*start, "", ""][:3], [(name.strip(), value.strip()) for name, _, value in pairs])


def _write(head: Head, message: Message) -> None:
    head.start = " ".join(message.start).rstrip().encode("latin-1", "replace")
    head.lines = [f"{name}: {value}".encode("latin-1", "replace") for name, value in message.headers]


def _flow(
    rules: Rules, virtual: Obj, client: Stream | None, peer: tuple[str, int], local: tuple[str, int]
) -> Flow:  # fmt: skip
    tls: Any = None
    if client is not None:
        local = client.writer.get_extra_info("sockname") or local
        tls = client.writer.get_extra_info("tls")
    secure = isinstance(tls, TlsTransport)
    return Flow(
        client=peer, local=local[:2], virtual=virtual.key.path, group=rules.group,
        pool_members=rules.pool_members, send_log=rules.send_log, secure=secure,
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


def rule_paths(engine: Engine, virtual: Obj) -> list[str]:
    """The rules that a virtual server runs: its own, then those that its persistence profiles name."""
    paths = [str(path) for path in virtual.props.get("rules") or ()]
    for entry in virtual.props.get("persist") or ():
        profile = engine.store.find(Target("persistence", entry_path(entry)))
        named = str(engine.props(profile).get("rule") or "none") if profile is not None else "none"
        if named not in ("none", *paths):
            paths.append(named)
    return paths
