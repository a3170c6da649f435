"""The policies of one client connection: which rules match, and what their actions change.

A rule is decided at the event of its last condition; its actions run at their own events, now or later. A first-match
or best-match policy whose rule matched decides nothing more on this connection (if the event came before the first
request) or for this request. Of conflicting actions of an all-match policy, the first one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from icontrol_emulator.config.policies.checks import TCL
from icontrol_emulator.dataplane.policies.matching import Sight, holds
from icontrol_emulator.dataplane.policies.program import Action, Condition, Program, Rule
from icontrol_emulator.irules.http import redirection, set_query, write_cookie
from icontrol_emulator.irules.persistence import PersistRequest
from icontrol_emulator.irules.state import Decision, Message

log = structlog.get_logger(__name__)

_OPERATORS = ("equals", "matches", "startsWith", "endsWith", "contains", "exists")
_MODES = {
    "sourceAddress": "source_addr", "destinationAddress": "dest_addr", "universal": "uie", "hash": "hash",
    "carp": "carp", "disable": "none",
}  # fmt: skip
"""Kinds of persistence in actions, as rules call them."""
_SINGLE = frozenset({"forward", "httpReply"})
"""Targets of which one action counts."""


class Counted(Protocol):
    """Counts of matches and actions, for statistics."""

    def rule_ran(self, policy: str, *, matched: bool) -> None: ...

    def action_ran(self, policy: str, rule: str, action: Action) -> None: ...


@dataclass(slots=True)
class Pending:
    """Rules that matched, whose later actions are still due, by policy; and policies that decide nothing more."""

    due: list[tuple[Program, Rule]] = field(default_factory=list)
    done: set[str] = field(default_factory=set)

    def copy(self) -> Pending:
        return Pending(list(self.due), set(self.done))


@dataclass(slots=True)
class Effects:
    """The objects that actions change: the message at hand and the decision."""

    decision: Decision
    message: Message | None = None
    disabled: bool = False
    single: set[str] = field(default_factory=set)


class PolicyRun:
    def __init__(
        self, programs: tuple[Program, ...], expand: Callable[[str], str], assign: Callable[[str, str], None],
        counted: Counted,
    ) -> None:  # fmt: skip
        self.programs = programs
        self._expand = expand
        self._assign = assign
        self._counted = counted

    def run(self, event: str, view: Sight, pending: Pending, effects: Effects) -> None:
        """Decide the rules of this event, and carry out the actions that are due. Changes `pending` and `effects`."""
        for program in self.programs:
            if program.path not in pending.done:
                self._decide(program, event, view, pending)
        for program, rule in list(pending.due):
            for action in rule.actions:
                if action.event == event and not effects.disabled:
                    self._act(program, rule, action, effects)

    def _decide(self, program: Program, event: str, view: Sight, pending: Pending) -> None:
        candidates = [rule for rule in program.rules if rule.event == event]
        if not candidates:
            return
        matched: list[Rule] = []
        for rule in candidates:
            if all(holds(condition, view) for condition in rule.conditions):
                matched.append(rule)
                if program.strategy == "first-match":
                    break
        self._counted.rule_ran(program.path, matched=bool(matched))
        if program.strategy == "best-match" and matched:
            matched = [max(matched, key=lambda rule: _closeness(rule))]
        if matched and program.strategy != "all-match":
            pending.done.add(program.path)
        pending.due += [(program, rule) for rule in matched]

    def _act(self, program: Program, rule: Rule, action: Action, effects: Effects) -> None:
        if action.target in _SINGLE:
            if action.target in effects.single:
                return
            effects.single.add(action.target)
        self._counted.action_ran(program.path, rule.name, action)
        self._apply(program, action, effects)

    def _text(self, action: Action, name: str) -> str:
        value = str(action.props.get(name) or "")
        return self._expand(value.removeprefix(TCL)) if value.startswith(TCL) else value

    def _apply(self, program: Program, action: Action, effects: Effects) -> None:
        match action.target:
            case "forward" if action.verb == "reset":
                effects.decision.rejected = True
            case "forward":
                self._forward(action, effects.decision)
            case "shutdown":
                effects.decision.rejected = True
            case "httpReply":
                code = int(action.props.get("code", 0)) or 302
                effects.decision.answer = redirection(code, self._text(action, "location"))
            case "log":
                log.info("policy", policy=program.path, message=self._text(action, "message"))
            case "tcl":
                name = str(action.props.get("tmName") or "")
                self._assign(name, self._expand(str(action.props["expression"]).removeprefix(TCL)))
            case "persist":
                mode = _MODES[action.verb]
                timeout = int(action.props.get("timeout", 0))
                effects.decision.persist = PersistRequest(mode, self._text(action, "key"), timeout or None)
            case "ltmPolicy":
                effects.disabled = True
            case "serverSsl":
                effects.decision.server_tls = action.verb == "enable"
            case "tcpNagle":
                pass
            case _:
                if effects.message is not None:
                    self._rewrite(action, effects.message)

    def _forward(self, action: Action, decision: Decision) -> None:
        port = int(action.props.get("port", 0))
        for kind in ("pool", "node", "virtual"):
            path = str(action.props.get(kind) or "")
            if path:
                decision.forward(kind, path, port)

    def _rewrite(self, action: Action, message: Message) -> None:
        name = str(action.props.get("tmName") or "")
        match action.target:
            case "httpUri":
                self._rewrite_uri(action, message)
            case "httpHost":
                message.replace("Host", self._text(action, "value"))
            case "httpCookie":
                write_cookie(message, name, self._text(action, "value") if action.verb == "insert" else None)
            case "httpSetCookie":
                self._set_cookie(action, message, name)
            case target:
                name = "Referer" if target == "httpReferer" else name
                if action.verb == "insert":
                    message.insert(name, self._text(action, "value"))
                elif action.verb == "replace":
                    message.replace(name, self._text(action, "value"))
                else:
                    message.remove(name)

    def _rewrite_uri(self, action: Action, message: Message) -> None:
        if action.props.get("value"):
            message.start[1] = " ".join(self._text(action, "value").split()) or "/"
            return
        path, _, query = message.start[1].partition("?")
        if action.props.get("path"):
            path = "".join(self._text(action, "path").split())
        if action.props.get("queryString"):
            query = "".join(self._text(action, "queryString").split())
        message.start[1] = set_query(path, query)

    def _set_cookie(self, action: Action, message: Message, name: str) -> None:
        if action.verb == "remove":
            kept = [pair for pair in message.headers if not _sets(pair, name)]
            message.headers = kept
            return
        parts = [f"{name}={self._text(action, 'value')}"]
        parts += [f"{word}={text}" for word in ("path", "domain") if (text := self._text(action, word))]
        message.insert("Set-Cookie", "; ".join(parts))


def _sets(pair: tuple[str, str], name: str) -> bool:
    return pair[0].lower() == "set-cookie" and pair[1].partition("=")[0].strip() == name


def _closeness(rule: Rule) -> tuple[int, int, int]:
    """More conditions, then closer comparisons, then longer values; the earlier rule among equals."""
    return (
        len(rule.conditions),
        -sum(_OPERATORS.index(each.operator) for each in rule.conditions if each.operator in _OPERATORS),
        sum(_longest(each) for each in rule.conditions),
    )


def _longest(condition: Condition) -> int:
    return max((len(value) for value in condition.values), default=0)
