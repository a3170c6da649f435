"""The data group that the iRule of L7 policies reads (:mod:`.code`). Pure.

Its records are what tenants give (values, keys and URLs, percent-encoded), paths of pools, numbers, and words of
fixed sets. The code compares records and passes them on, but never evaluates one.

================================  ===========================================================
record                            data
================================  ===========================================================
``<policy>.action``               ``pool``, ``reject``, ``url``, ``prefix``, ``unserved``
``<policy>.target``               a pool's path, a URL or a prefix
``<policy>.code``                 the status code of a redirect
``<policy>.rules``                four words a rule: its number, operand, comparison, invert
``<policy>.<rule>.value``         what to compare with
``<policy>.<rule>.key``           the name of a header, cookie or field
``<policy>.persist``, ``.cookie`` the pool's session persistence, where pools differ
``<policy>.tls``                  1: the pool's members are reached over TLS
================================  ===========================================================

Policies are numbered from 1; 0 is what is done if none matches.
"""

from evenkeel.core.devices.service import ServiceDefinition, ServicePool
from evenkeel.core.resources.model import TLS_PROTOCOL
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.data_groups import data_group, encode_record
from evenkeel.devices.bigip.render.l7.effective import EffectivePolicy, Routing
from evenkeel.devices.bigip.render.l7.persistence import persistence_keyword_and_cookie, same_persistence
from evenkeel.devices.bigip.render.l7.values import (
    RULE_TYPES_ABOUT_CERTIFICATES,
    parse_comparison,
    regex_atoms,
)
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.l7 import redirect_code, redirect_url

KIND = "l7"
RULES_MAX = 1000
"""Maximum number of a listener's rules that a request may be compared with, so that a tenant cannot occupy the
device.
"""
PATTERN_ATOMS_MAX = 2000
"""Maximum size, in atoms, of all regular expressions of one listener: a request may be compared with each."""
NEVER_OPERAND = "never"
"""Operand of rules about client certificates on listeners without TLS: such rules never match."""
_ACTIONS = {"REJECT": "reject", "REDIRECT_TO_POOL": "pool", "REDIRECT_TO_URL": "url", "REDIRECT_PREFIX": "prefix"}
Records = dict[str, str]


def l7_data_group(service: ServiceDefinition, routing: Routing, names: BigIpNames) -> WantedObject:
    """Build the data group that the listener's L7 iRule reads, records sorted by name. Raises
    :class:`Unrenderable` as :func:`l7_records`.
    """
    return data_group(
        service, KIND, routing.listener.id, dict(sorted(l7_records(service, routing, names).items())), names
    )


# -- records


def l7_records(service: ServiceDefinition, routing: Routing, names: BigIpNames) -> Records:
    """Return the records ``{name: data}`` for the L7 policies of a listener.

    Raises :class:`Unrenderable` for rules, actions or persistence that a BIG-IP cannot implement, and for too
    many rules or too large regular expressions.
    """
    count = sum(len(each.rules) for each in routing.policies)
    if count > RULES_MAX:
        raise Unrenderable(f"listener {routing.listener.id}: {count} enabled l7rules: {RULES_MAX} are possible")
    atoms = sum(regex_atoms(rule) for each in routing.policies for rule in each.rules)
    if atoms > PATTERN_ATOMS_MAX:
        raise Unrenderable(
            f"listener {routing.listener.id}: the regular expressions of its l7rules have {atoms} characters after"
            f" their counts are unrolled; {PATTERN_ATOMS_MAX} are possible on a BIG-IP"
        )
    choice = _PoolChoiceRecords(service, routing, names)
    found = choice.records(0, routing.default) if routing.default else {"0.action": "unserved"}
    for number, each in enumerate(routing.policies, start=1):
        found |= _rule_records(number, each, terminates=routing.listener.protocol == TLS_PROTOCOL)
        found |= choice.records(number, each.pool) if each.pool else _answer_records(number, each)
    return found


def _rule_records(number: int, each: EffectivePolicy, *, terminates: bool) -> Records:
    found, words = {}, []
    for place, rule in enumerate(each.rules, start=1):
        wanted = parse_comparison(rule)
        operand = NEVER_OPERAND if rule.type in RULE_TYPES_ABOUT_CERTIFICATES and not terminates else wanted.operand
        words.append(f"{place} {operand} {wanted.operator} {int(wanted.invert)}")
        found[f"{number}.{place}.value"] = encode_record(wanted.value)
        if wanted.key:
            found[f"{number}.{place}.key"] = encode_record(wanted.key)
    found[f"{number}.rules"] = " ".join(words)
    return found


def _answer_records(number: int, each: EffectivePolicy) -> Records:
    policy = each.policy
    if policy.action not in _ACTIONS:
        raise Unrenderable(f"l7policy {policy.id}: action {policy.action} is not possible on a BIG-IP")
    found = {f"{number}.action": _ACTIONS[policy.action]}
    if policy.action != "REJECT":
        found[f"{number}.target"] = encode_record(redirect_url(policy))
        found[f"{number}.code"] = str(redirect_code(policy))
    return found


class _PoolChoiceRecords:
    """Builds the records by which a listener's iRule chooses pools."""

    def __init__(self, service: ServiceDefinition, routing: Routing, names: BigIpNames) -> None:
        self._service, self._names = service, names
        self._persistence = not same_persistence(routing.pools)
        self._tls = routing.uses_tls

    def records(self, number: int, pool: ServicePool) -> Records:
        """Return the records by which the iRule chooses this pool. ``number``: the policy's number; 0 for the
        default pool. Raises :class:`Unrenderable` for persistence that no iRule can set.
        """
        partition = self._names.partition_name(self._service.project_id)
        found = {f"{number}.action": "pool", f"{number}.target": f"/{partition}/{self._names.object_name(pool.id)}"}
        if self._persistence:
            word, cookie = persistence_keyword_and_cookie(pool)
            found[f"{number}.persist"] = word
            found |= {f"{number}.cookie": encode_record(cookie)} if cookie else {}
        if self._tls and pool.tls_enabled:
            found[f"{number}.tls"] = "1"
        return found
