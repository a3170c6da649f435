"""The verdict: may this caller ask this, and whose objects does the answer reach?

Rules are oslo.policy's and see a caller's attributes and one target, ``project_id``. Each is asked twice: for the
caller's own project, and for one that is not the caller's. Who is let in for another's sees every project; who is let
in for its own sees that one. So the store, which filters by project, is what keeps tenants apart, and a rule can only
open that filter or close the route.

A verdict is remembered per (rule, caller); files are looked at every few seconds, not for every request.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

import msgspec
import structlog
from oslo_config import cfg
from oslo_policy import policy as oslo

from evenkeel.api.errors import Forbidden
from evenkeel.api.identity.caller import Caller
from evenkeel.api.policy.defaults import defaults
from evenkeel.api.policy.names import GLOBAL_SUFFIX
from evenkeel.core.ids import ProjectId
from evenkeel.core.values import Value

log = structlog.get_logger(__name__)

LOOK_SECONDS = 5.0
"""Between looks whether a policy file has changed."""
MAX_REMEMBERED = 20_000
ANOTHER_PROJECT = "\0another"
"""No project has that id."""
_DEFAULT_FILE = "policy.yaml"
"""As everywhere in OpenStack; it need not be there."""


class Admitted(Value):
    """A caller whom the policy lets do what is asked, and how far that reaches."""

    project_id: ProjectId
    """Whose what is made is, unless the body says otherwise."""
    scope: ProjectId | None
    """None: may see and change every project; else only that one."""


class Policy:
    """The rules in force. ``enforcer`` has its defaults registered; see :func:`open_policy`."""

    def __init__(self, enforcer: Any, *, monotonic: Callable[[], float] = monotonic) -> None:
        self._enforcer = enforcer
        self._monotonic = monotonic
        self._verdicts: OrderedDict[tuple[str, Caller], Admitted | None] = OrderedDict()
        self._seen: Any = enforcer.rules
        self._next_look_seconds = monotonic() + LOOK_SECONDS

    def admit(self, rule: str, caller: Caller) -> Admitted:
        """How far the request reaches. Raises :class:`Forbidden`."""
        if self._monotonic() >= self._next_look_seconds:
            self._look()
        key = (rule, caller)
        try:
            verdict = self._verdicts[key]
        except KeyError:
            verdict = self._verdicts[key] = self._judge(rule, caller)
            if len(self._verdicts) > MAX_REMEMBERED:
                self._verdicts.popitem(last=False)
        if verdict is None:
            raise Forbidden
        return verdict

    def allows(self, rule: str, caller: Caller) -> bool:
        """Does the rule let the caller do it anywhere?"""
        try:
            self.admit(rule, caller)
        except Forbidden:
            return False
        return True

    def check_names(self, names: Iterable[str]) -> None:
        """Raises :class:`ValueError` for one that is no rule: a route that nothing guards is never served."""
        if unknown := sorted(set(names) - set(self._enforcer.registered_rules)):
            raise ValueError(f"routes without a policy rule: {', '.join(map(repr, unknown))}")

    def _judge(self, rule: str, caller: Caller) -> Admitted | None:
        everybodys = rule + GLOBAL_SUFFIX
        if everybodys not in self._enforcer.registered_rules:
            everybodys = rule
        if self._is_allowed(everybodys, caller, ProjectId(ANOTHER_PROJECT)):
            return Admitted(project_id=caller.project_id, scope=None)
        # a login for no project has none that could be its own
        if caller.project_id and self._is_allowed(rule, caller, caller.project_id):
            return Admitted(project_id=caller.project_id, scope=caller.project_id)
        return None

    def _is_allowed(self, rule: str, caller: Caller, project_id: ProjectId) -> bool:
        credentials = msgspec.structs.asdict(caller)
        credentials["roles"] = list(caller.roles)
        target = {"project_id": project_id, "tenant_id": project_id}
        # not enforce(): that looks at the files each time
        check = self._enforcer.rules.get(rule)
        return check is not None and bool(check(target, credentials, self._enforcer, rule))

    def _look(self) -> None:
        """Read changed files; broken ones leave the rules as they are."""
        self._next_look_seconds = self._monotonic() + LOOK_SECONDS
        try:
            self._enforcer.load_rules()
        except Exception as error:
            log.error("policy file not read; the previous rules stay in force", reason=_words(error))
        if self._enforcer.rules is not self._seen:
            self._seen = self._enforcer.rules
            self._verdicts.clear()
            log.info("policy rules read again")


def open_policy(conf: cfg.ConfigOpts | None = None) -> Policy:
    """The defaults, and over them the files that ``[oslo_policy]`` of ``conf`` names; None: only the defaults.

    Raises :class:`ValueError` for a file that is named and not there, cannot be read or refers to unknown rules.
    """
    own = conf
    if own is None:
        own = cfg.ConfigOpts()
        own([], project="evenkeel", default_config_files=[], default_config_dirs=[])
    enforcer = oslo.Enforcer(own, use_conf=conf is not None)
    rules = defaults()
    enforcer.register_defaults(rules)
    try:
        enforcer.load_rules(conf is not None)
        if conf is None:
            enforcer.set_rules({rule.name: rule.check for rule in rules})
        else:
            _check_files(own, enforcer)
        enforcer.check_rules(raise_on_violation=True)
    except Exception as error:
        raise ValueError(f"oslo_policy.policy_file: {_words(error)}") from error
    return Policy(enforcer)


def _check_files(conf: cfg.ConfigOpts, enforcer: Any) -> None:
    file = conf.oslo_policy.policy_file
    if enforcer.policy_path is None and file != _DEFAULT_FILE:
        raise ValueError(f"{file}: no such file")
    if unknown := sorted(set(enforcer.file_rules) - set(enforcer.registered_rules)):
        log.warning("rules of the policy file that nothing refers to by default", names=", ".join(unknown))
    for name, check in enforcer.rules.items():
        if "http:" in str(check) or "https:" in str(check):
            raise ValueError(f"rule {name!r}: checks by HTTP are not supported")


def _words(error: Exception) -> str:
    return str(error).partition("\n")[0][:300]
