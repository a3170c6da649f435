"""Why clients or members see something else of our load balancers than of Octavia's: each has a row in
``docs/reference/differences.md``, "Traffic".

A reason either explains a difference as a whole, or takes away what it explains of an answer: what is left must be
equal then.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evenkeel.core.devices.service import ServiceDefinition, ServiceListener, ServicePool
from evenkeel.core.resources.model import TLS_PROTOCOL
from tests.equivalence.traffic import told

OLD_VERSIONS = frozenset({"TLSv1", "TLSv1.1"})
SPOKEN_IN_THE_CLEAR = "no TLS: WRONG_VERSION_NUMBER"
"""What a client that begins TLS says of a server that does not."""
PROXY_PROTOCOLS = ("PROXY", "PROXYV2")
FORWARDED = ("x-forwarded-for:", "x-forwarded-port:")
_FORGED = re.compile(r"x-(forwarded|ssl)-[a-z-]+: forged")


class Case(NamedTuple):
    """One difference; ``ours`` and ``octavias``: what is different of an answer, none if it is of another kind."""

    tree: ServiceDefinition
    found: str
    ours: dict[str, Any]
    octavias: dict[str, Any]

    @property
    def listener(self) -> ServiceListener | None:
        return next((one for one in self.tree.listeners if self.found.startswith(f"{one.id}:")), None)

    @property
    def terminating(self) -> ServiceListener | None:
        """The listener, if it terminates TLS."""
        return self.listener if self.listener and self.listener.protocol == TLS_PROTOCOL else None

    @property
    def pool(self) -> ServicePool | None:
        """The listener's default pool."""
        wanted = self.listener and self.listener.default_pool_id
        return next((one for one in self.tree.pools if one.id == wanted), None)

    @property
    def equal(self) -> bool:
        return bool(self.ours) and self.ours == self.octavias


# -- what explains a difference as a whole


def _hello(case: Case) -> bool:
    """TLS-HELLO checks of members in the clear, for which an amphora only connects."""
    monitors = [one.monitor.type for one in case.tree.pools if one.monitor and not one.tls_enabled]
    return case.found.startswith("checks at") and "TLS-HELLO" in monitors


def _http_pool_behind_tcp(case: Case) -> bool:
    """A listener that forwards bytes, to a pool of protocol HTTP."""
    return bool(case.pool and case.listener and case.listener.protocol == "TCP" and case.pool.protocol == "HTTP")


def _other_clients(case: Case) -> bool:
    return bool(case.listener and case.listener.allowed_cidrs and "closed" in case.found)


def _no_default_certificate(case: Case) -> bool:
    """A listener with SNI certificates alone, at which an amphora speaks HTTP in the clear."""
    listener = case.terminating
    return bool(listener and not listener.default_tls_container_ref and SPOKEN_IN_THE_CLEAR in case.found)


def _old_version(case: Case) -> bool:
    """A version older than those that HAProxy and OpenSSL speak unless they are told to."""
    old = any(one.tls_versions and set(one.tls_versions) <= OLD_VERSIONS for one in case.tree.listeners)
    if old and "all SSL/TLS versions are disabled" in case.found:
        return True
    listener = case.terminating
    refused = str(case.octavias.get("outcome", "")).startswith("no TLS")
    newest = re.search(r"newest '(TLSv1[.\d]*)'", case.found)
    return bool(listener and refused and newest and newest[1] in OLD_VERSIONS & set(listener.tls_versions))


def _no_cipher_of_older_versions(case: Case) -> bool:
    """A client of an older version, at a listener whose ciphers are those of TLS 1.3."""
    listener = case.terminating
    refused = str(case.ours.get("outcome", "")).startswith("no TLS")
    names = ((listener and listener.tls_ciphers) or "").split(":")
    return refused and "newest 'TLSv1.2'" in case.found and all(name.startswith("TLS_") for name in names)


def _later_policy(case: Case) -> bool:
    """A request for which a policy that chooses a pool comes before one that redirects or rejects."""
    actions = [one.action for one in case.listener.l7policies if one.admin_state_up] if case.listener else []
    if "REDIRECT_TO_POOL" not in actions:
        return False
    later = {*actions[actions.index("REDIRECT_TO_POOL") :]} - {"REDIRECT_TO_POOL"}
    theirs = str(next(iter(case.octavias.get("outcome") or ("",))))
    return bool(later and case.ours.get("by")) and re.search(r" (30\d|403)\b", theirs) is not None


def _port_in_host(case: Case) -> bool:
    """A Host header with a port, where rules look at names."""
    policies = case.listener.l7policies if case.listener else ()
    rules = [one for policy in policies for one in policy.rules if one.type == "HOST_NAME"]
    return bool(rules) and re.search(r"'Host: [^']*:\d+'", case.found) is not None


def _unverified(case: Case) -> bool:
    """Members of a pool with an authority that an amphora does not verify, for it has HTTPS checks and no list of
    revocations; ours refuses some of them."""
    pools = [one for one in case.tree.pools if one.tls_enabled and one.ca_tls_container_ref]
    if not any(one.monitor and one.monitor.type == "HTTPS" and not one.crl_container_ref for one in pools):
        return False
    refused = case.ours.get("by") == "" and bool(case.octavias.get("by"))
    return refused or case.found.startswith("checks at") or " requests: {" in case.found


WHOLE: Mapping[str, Callable[[Case], bool]] = {
    "TLS-HELLO checks begin TLS": _hello,
    "a TCP listener forwards bytes, whatever its pool's protocol is": _http_pool_behind_tcp,
    "allowed_cidrs are HAProxy's; in Octavia security groups' in front of it": _other_clients,
    "a listener with SNI certificates alone terminates TLS": _no_default_certificate,
    "TLS 1.0 and 1.1 work where they are asked for": _old_version,
    "the first policy that matches decides, whatever it does": _later_policy,
    "HOST_NAME is a name, whatever port stands behind it": _port_in_host,
    "members are verified whatever checks their pool has": _unverified,
    "versions for which no cipher is named are not spoken": _no_cipher_of_older_versions,
}


# -- what explains a part of an answer


def _cipher(case: Case) -> Case:
    """The choice among the listener's ciphers."""
    listener = case.terminating
    ours, octavias = case.ours.get("tls"), case.octavias.get("tls")
    if not (listener and listener.tls_ciphers and ours and octavias):
        return case
    if not {ours[2], octavias[2]} <= {*listener.tls_ciphers.split(":")}:
        return case
    return _with(case, "tls", (*ours[:2], "", ours[3]), (*octavias[:2], "", octavias[3]))


def _alpn_to_members(case: Case) -> Case:
    """The protocol negotiated with a member for a client whose protocol is not known."""
    if not (case.listener and case.listener.protocol == "TCP" and case.pool and case.pool.tls_enabled):
        return case
    without = [tuple(_without_alpn(one) for one in side.get("heard", ())) for side in (case.ours, case.octavias)]
    return _with(case, "heard", *without)


def _without_alpn(heard: Any) -> Any:
    """What one connection heard."""
    proxy, tls, *rest = heard
    return proxy, (*tls[:-1], ""), *rest


def _transport_security(case: Case) -> Case:
    """A semicolon at the end, and the header in answers of HAProxy's own."""
    listener = case.terminating
    ours, octavias = case.ours.get("outcome"), case.octavias.get("outcome")
    if listener is None or listener.hsts_max_age is None or not _are_tuples(ours, octavias):
        return case
    name = "strict-transport-security:"
    after = tuple(one.removesuffix(";") if str(one).startswith(name) else one for one in octavias)
    if not any(str(one).startswith(name) for one in octavias) and " 200 " not in ours[0]:
        ours = tuple(one for one in ours if not str(one).startswith(name))
    return _with(case, "outcome", ours, after)


def _forwarded(case: Case) -> Case:
    """Headers that an amphora leaves out for pools of the PROXY protocol."""
    if case.listener is None or not any(one.protocol in PROXY_PROTOCOLS for one in case.tree.pools):
        return case
    wanted = {f"{name.lower()}:" for name, switch in case.listener.insert_headers.items() if switch.lower() == "true"}
    names = tuple(wanted & {*FORWARDED})
    return _without_lines(case, "ours", lambda line: line.startswith(names))


def _forged(case: Case) -> Case:
    """What clients claim in the name of the load balancer."""
    if "forged" not in case.found:
        return case
    return _without_lines(case, "octavias", lambda line: _FORGED.fullmatch(line) is not None)


PARTLY: Mapping[str, Callable[[Case], Case]] = {
    "clients choose the cipher": _cipher,
    "a TCP listener negotiates no protocol with members": _alpn_to_members,
    "Strict-Transport-Security is in all answers, and in the form of RFC 6797": _transport_security,
    "headers are inserted whatever the pool's protocol is": _forwarded,
    "headers that some listener inserts cannot be forged at another one": _forged,
}
REASONS = (*WHOLE, *PARTLY)


def reasons(tree: ServiceDefinition, found: str) -> tuple[str, ...]:
    """Why a difference is on purpose; none: it is not."""
    case = Case(tree, found, *(told(found) or ({}, {})))
    for text, applies in WHOLE.items():
        if applies(case):
            return (text,)
    because = []
    for text, without in PARTLY.items():
        after = without(case)
        if after != case:
            because.append(text)
        case = after
    return tuple(because) if case.equal else ()


def _with(case: Case, field: str, ours: Any, octavias: Any) -> Case:
    return case._replace(ours={**case.ours, field: ours}, octavias={**case.octavias, field: octavias})


def _without_lines(case: Case, whose: str, explained: Callable[[str], bool]) -> Case:
    """Without explained lines of what the only connection heard that the other side has not."""
    sides = {"ours": case.ours.get("heard"), "octavias": case.octavias.get("heard")}
    if not all(heard and len(heard) == 1 for heard in sides.values()):
        return case
    (other,) = sides["octavias" if whose == "ours" else "ours"]
    (its,) = sides[whose]
    left = tuple(one for one in its if one in other or not (isinstance(one, str) and explained(one)))
    after = {**sides, whose: (left,)}
    return _with(case, "heard", after["ours"], after["octavias"])


def _are_tuples(*some: Any) -> bool:
    return all(isinstance(one, tuple) for one in some)
