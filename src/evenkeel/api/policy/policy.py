"""Decision whether a caller may send a request, and which projects' objects it may access.

Rules are oslo.policy's and see a caller's attributes and one target, ``project_id``. Each is evaluated for
another project, and, if that is not allowed, for the caller's own. A caller allowed for another project sees
all projects; one allowed only for its own project sees that one. So the store's filter by project isolates
tenants, and a rule can only disable that filter or refuse the request.

Decisions are cached per (rule, caller); files are checked every few seconds, not for every request.
"""

import functools
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

import msgspec
import structlog
from oslo_config import cfg
from oslo_policy import policy as oslo

from evenkeel.api.identity.caller import Caller
from evenkeel.api.policy.defaults import default_rules
from evenkeel.api.policy.names import GLOBAL_SUFFIX
from evenkeel.api.responses.errors import Forbidden
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value

log = structlog.get_logger(__name__)

CHECK_SECONDS = 5.0
"""Interval of checks for changed policy files."""
MAX_REMEMBERED = 20_000
ANOTHER_PROJECT = "\0another"
"""Project id that stands for a foreign project: no project has it."""
_DEFAULT_FILE = "policy.yaml"
"""OpenStack's default name of a policy file; the file is optional."""


_NAMED_PATTERN = re.compile(r"(?<!not )\b(role|rule):([^\s()]+)")
"""Matches roles and rules in the text of a check, except those that the check excludes."""


class AdmittedCaller(Value):
    """An authorized caller, and the scope of the request."""

    project_id: ProjectId
    """Project of created objects, unless the body names one."""
    scope: ProjectId | None
    """Project that the caller may see and change; None: every project."""
    user: str = ""
    """Name of the caller, or its id if it has no name; empty: authentication is disabled, or the route is public."""
    roles: tuple[str, ...] = ()


class Policy:
    """The current policy rules and cached decisions. ``enforcer`` has its defaults registered; see
    :func:`open_policy`.
    """

    def __init__(self, enforcer: Any, *, monotonic: Callable[[], float] = monotonic) -> None:
        self._enforcer = enforcer
        self._monotonic = monotonic
        self._verdicts: OrderedDict[tuple[str, Caller], AdmittedCaller | None] = OrderedDict()
        self._seen: Any = enforcer.rules
        self._next_check_seconds = monotonic() + CHECK_SECONDS

    def admit(self, rule: str, caller: Caller) -> AdmittedCaller:
        """Authorize a request by a rule and return the caller with the projects in scope. Reloads changed
        policy files every :data:`CHECK_SECONDS`. Raises :class:`Forbidden`, which also an unknown rule
        causes.
        """
        if self._monotonic() >= self._next_check_seconds:
            self._reload_changed_files()
        key = (rule, caller)
        try:
            verdict = self._verdicts[key]
        except KeyError:
            verdict = self._verdicts[key] = self._admission_by_rule(rule, caller)
            if len(self._verdicts) > MAX_REMEMBERED:
                self._verdicts.popitem(last=False)
        if verdict is None:
            raise Forbidden(self.roles_of(rule))
        return verdict

    def roles_of(self, rule: str) -> tuple[str, ...]:
        """Return the roles that the rule and the rules it refers to name, each once, the rule's own first;
        roles that a check excludes (``not role:…``) are left out.
        """
        found: dict[str, None] = {}
        seen: set[str] = set()
        waiting = [rule]
        while waiting:
            name = waiting.pop(0)
            if name in seen:
                continue
            seen.add(name)
            for kind, what in _NAMED_PATTERN.findall(str(self._enforcer.rules.get(name, ""))):
                if kind == "role":
                    found[what] = None
                else:
                    waiting.append(what)
        return tuple(found)

    def allows(self, rule: str, caller: Caller) -> bool:
        """Whether the rule allows the caller for its own project or for all."""
        try:
            self.admit(rule, caller)
        except Forbidden:
            return False
        return True

    def check_rules_exist(self, names: Iterable[str]) -> None:
        """Check that all rules exist, so that no route is served without authorization. Raises :class:`ValueError`."""
        if unknown := sorted(set(names) - set(self._enforcer.registered_rules)):
            raise ValueError(f"routes without a policy rule: {', '.join(map(repr, unknown))}")

    def _admission_by_rule(self, rule: str, caller: Caller) -> AdmittedCaller | None:
        user = caller.user_name or caller.user_id
        everybodys = rule + GLOBAL_SUFFIX
        if everybodys not in self._enforcer.registered_rules:
            everybodys = rule
        # first: a caller who is allowed for a foreign project sees all projects
        if self._is_allowed(everybodys, caller, ProjectId(ANOTHER_PROJECT)):
            return AdmittedCaller(project_id=caller.project_id, scope=None, user=user, roles=caller.roles)
        # a login without a project has no project of its own
        if caller.project_id and self._is_allowed(rule, caller, caller.project_id):
            return AdmittedCaller(project_id=caller.project_id, scope=caller.project_id, user=user, roles=caller.roles)
        return None

    def _is_allowed(self, rule: str, caller: Caller, project_id: ProjectId) -> bool:
        credentials = msgspec.structs.asdict(caller)
        credentials["roles"] = list(caller.roles)
        target = {"project_id": project_id, "tenant_id": project_id}
        # not enforce(), which checks the files for changes at each call
        check = self._enforcer.rules.get(rule)
        return check is not None and bool(check(target, credentials, self._enforcer, rule))

    def _reload_changed_files(self) -> None:
        """Reload changed policy files and clear cached decisions; invalid files are logged and leave the
        rules unchanged.
        """
        self._next_check_seconds = self._monotonic() + CHECK_SECONDS
        try:
            self._enforcer.load_rules()
        except Exception as error:
            log.error("policy file not read; the previous rules stay valid", reason=_first_error_line(error))
        # oslo.policy makes a new object of rules when it reads a changed file.
        if self._enforcer.rules is not self._seen:
            self._seen = self._enforcer.rules
            self._verdicts.clear()
            log.info("policy rules reloaded")


def open_policy(conf: cfg.ConfigOpts | None = None) -> Policy:
    """Open the policy: the defaults, overridden by the files that ``[oslo_policy]`` of ``conf`` names; None:
    only the defaults.

    Raises :class:`ValueError` for an unreadable file, a missing one unless it is the default ``policy.yaml``,
    and rules that refer to unknown rules or check by HTTP.
    """
    own = conf
    if own is None:
        # oslo.policy needs options even if no file is to be read.
        own = cfg.ConfigOpts()
        own([], project="evenkeel", default_config_files=[], default_config_dirs=[])
    enforcer = oslo.Enforcer(own, use_conf=conf is not None)
    rules = default_rules()
    enforcer.register_defaults(rules)
    try:
        enforcer.load_rules(conf is not None)
        if conf is None:
            enforcer.set_rules({rule.name: rule.check for rule in rules})
        else:
            _check_policy_files(own, enforcer)
        enforcer.check_rules(raise_on_violation=True)
    except Exception as error:
        raise ValueError(f"oslo_policy.policy_file: {_first_error_line(error)}") from error
    return Policy(enforcer)


@functools.cache
def default_policy() -> Policy:
    """Return the policy without files, one object for all applications of a process."""
    return open_policy()


def _check_policy_files(conf: cfg.ConfigOpts, enforcer: Any) -> None:
    file = conf.oslo_policy.policy_file
    if enforcer.policy_path is None and file != _DEFAULT_FILE:
        raise ValueError(f"{file}: no such file")
    if unknown := sorted(set(enforcer.file_rules) - set(enforcer.registered_rules)):
        log.warning("policy file has rules without a default", names=", ".join(unknown))
    for name, check in enforcer.rules.items():
        # Such a check would block the event loop on another server for every request.
        if "http:" in str(check) or "https:" in str(check):
            raise ValueError(f"rule {name!r}: checks by HTTP are not supported")


def _first_error_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]
