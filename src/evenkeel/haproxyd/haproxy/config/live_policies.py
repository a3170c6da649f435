"""L7 policies that can change without a reload. Pure.

HAProxy loads a frontend's rules as ACLs and its policies as ``http-request`` lines, as the driver rendered
them. A few more lines decide in place of the policies once a map has an entry for the frontend. The policies
are then the entries of another map: regular expressions in the order of the policies, and a last one for the
default backend if that is not the loaded one. An expression is matched against the request's text: its host,
its path, what is known of the client's certificate, and the numbers of the loaded rules of other kinds that
it meets. So a change of policies whose rules are loaded, or compare one of these with a text, is a few
entries and one that switches to them; so is another default backend that is loaded, or none. The next reload
loads all of it as lines again, which costs requests less.

The text of a request is ``<generation>/<number>/<number>/…/<certificate>`` and the host and the path, each on
a line of its own. A line break cannot be in any of them: what clients choose in their certificates is in
hexadecimal digits.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from evenkeel.core.kit.values import Value

GENERATIONS, POLICIES = "_l7", "_l7_policies"
"""Names of the maps, empty when HAProxy loads them: of the generation that decides for a frontend, and of policies."""
ANSWER_BACKEND = "_l7"
"""Name of the backend that redirects and refuses requests, and answers 503 where a frontend has no default backend; no
load balancer's backend can have this name.
"""
POLICY_ENTRIES_MAX = 200
"""Maximum number of entries of policies in a process; earlier generations' entries stay until the next reload."""
_NO_BACKEND = "-"
"""Value for requests that no policy matches: the name of no backend, so the default backend is used."""
_POOL_CHOSEN_LINE = "acl l7.chosen var(txn.pool) -m found"
_USE_POOL_LINE = "use_backend %[var(txn.pool)] if l7.chosen"
_ACL_PATTERN = re.compile(r"acl (l7\.[0-9.]+) (.+)")
_POLICY_PATTERN = re.compile(
    r"(http-request (?:deny|redirect|set-var\(txn\.pool\)) .+) if ((?:!?l7\.(?:[0-9.]+|chosen) ?)+)"
)
_POOL_PATTERN = re.compile(r"http-request set-var\(txn\.pool\) str\((.+)\)")
_DENY_LINE = "http-request deny deny_status 403"
_DENIED, _NO_DEFAULT = f"{ANSWER_BACKEND}|deny", f"{ANSWER_BACKEND}|none"
# OPTIONS with an empty path is about the server as a whole (`*`), not about `/` (RFC 9112, 3.2.4).
_ROOT_CONDITION = "!METH_OPTIONS !{ path -m len gt 0 } { url_beg -i http:// https:// }"
ROOT_PATH_LINE = f"http-request set-path / if {_ROOT_CONDITION}"
_DEFAULT_BACKEND = "default_backend "
_LINE_PREFIXES_AFTER_POLICIES = (
    "option forwardfor",
    "http-request set-header ",
    "http-request del-header X-",
    _DEFAULT_BACKEND,
)
"""Beginnings of the lines that the driver renders after policies; the first one marks their place without any."""
_DECIDING_LINE_PREFIXES = ("redirect ", "use_backend ", "http-request return status 404")
"""Beginnings of lines that may decide before the chosen backend does: operators' own, and the only answer of a frontend
for challenges.
"""
_REDIRECT_KINDS = {"l": "location", "p": "prefix"}
_REDIRECT_CODES = (301, 302, 303, 307, 308)
_MATCH_EXPRESSIONS = {"str": "{0}\\n", "beg": "{0}", "end": "[^\\n]*{0}\\n", "sub": "[^\\n]*{0}"}
_REGEX_BEFORE_SAMPLE = {"req.hdr(host),host_only": "[^\\n]*\\n", "path": "[^\\n]*\\n[^\\n]*\\n"}
"""``{what a rule compares: expression for what is before it in a request's text}``."""

_NAME_FIELDS = ("CN", "O", "OU")
"""Fields of the certificate's distinguished name that rules can be about without having been loaded."""
_CLIENT_CERTIFICATE_FACTS = "".join(
    ("used=%[ssl_c_used]/error=%[ssl_c_err]/", *(f"{name}=%[ssl_c_s_dn({name}),hex]/" for name in _NAME_FIELDS))
)
"""Facts about the client's certificate in HAProxy's notation; their values are empty without TLS."""
_NUMBERS_BY_SAMPLE = {"ssl_c_used": "used", "ssl_c_err": "error"}
_HEX_MATCHES = {"str": "{0}/", "beg": "{0}", "end": "(?:[0-9A-F]{{2}})*{0}/", "sub": "(?:[0-9A-F]{{2}})*{0}"}


class ParsedRule(Value):
    """One condition of a policy: ``definition`` is the ACL without its name; ``negated``: the ACL must not
    match.
    """

    definition: str
    negated: bool


class ParsedPolicy(Value):
    """One L7 policy: its ``http-request`` line without the conditions, and the conditions, all of which have
    to hold.
    """

    action: str
    conditions: tuple[ParsedRule, ...]


class ParsedPolicies(Value):
    """Lines of a frontend: those before its L7 policies, the policies in order, and those after the first
    policy; lines that choose the backend are left out. ``default``: name of its default backend; empty: none.
    """

    before: tuple[str, ...]
    policies: tuple[ParsedPolicy, ...] = ()
    after: tuple[str, ...] = ()
    default: str = ""

    @property
    def others(self) -> tuple[str, ...]:
        """Return the lines before and after the policies, in order."""
        return (*self.before, *self.after)

    @property
    def numbers(self) -> dict[str, int]:
        """Return ``{definition: number}`` of the policies' different rules, numbered from 1 in order of
        appearance.
        """
        found = dict.fromkeys(one.definition for policy in self.policies for one in policy.conditions)
        return {definition: number for number, definition in enumerate(found, start=1)}


class LiveFrontend(Value):
    """A frontend whose L7 policies were changed at runtime since HAProxy loaded it with the lines ``loaded``.

    ``generation``: number of the change that decides now; ``entries``: (expression, value) of its policies,
    in order.
    """

    loaded: tuple[str, ...]
    generation: int
    entries: tuple[tuple[str, str], ...] = ()


class LivePolicies(Value):
    """Frontends of one process whose policies were changed since HAProxy loaded them, by name.

    ``size``: number of entries of policies in the process; ``unknown``:
    frontends that an earlier daemon changed; if there are any, only a reload changes policies.
    """

    frontends: Mapping[str, LiveFrontend] = {}
    size: int = 0
    unknown: frozenset[str] = frozenset()

    @property
    def generation(self) -> int:
        """Return the last generation of any frontend; 0 without any."""
        return max((one.generation for one in self.frontends.values()), default=0)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all frontends with changed policies, unknown ones included, sorted."""
        return tuple(sorted(self.frontends.keys() | self.unknown))

    def replace_frontend(self, name: str, frontend: LiveFrontend) -> "LivePolicies":
        """Return a copy with this frontend added or replaced; ``size`` grows by its entries, because earlier
        ones stay in the process.
        """
        return LivePolicies(
            frontends={**self.frontends, name: frontend},
            size=self.size + len(frontend.entries),
            unknown=self.unknown,
        )


def parse_policies(lines: Sequence[str]) -> ParsedPolicies | None:
    """Parse a frontend's lines; None if its policies do not have the form in which this package's driver
    renders them.
    """
    acls: dict[str, str] = {}
    before: list[str] = []
    after: list[str] = []
    policies: list[ParsedPolicy] = []
    default = ""
    for line in lines:
        if acl := _ACL_PATTERN.fullmatch(line):
            acls[acl[1]] = acl[2]
        elif policy := _POLICY_PATTERN.fullmatch(line):
            words = [word for word in policy[2].split() if word != "!l7.chosen"]
            if after or any(word.removeprefix("!") not in acls for word in words):
                return None
            policies.append(ParsedPolicy(action=policy[1], conditions=tuple(_parse_conditions(words, acls))))
        elif line.startswith(_DEFAULT_BACKEND):
            default = shlex.split(line)[1]
        elif line not in (_POOL_CHOSEN_LINE, _USE_POOL_LINE):
            (after if policies else before).append(line)
    return ParsedPolicies(before=tuple(before), policies=tuple(policies), after=tuple(after), default=default)


def _parse_loaded(lines: Sequence[str]) -> ParsedPolicies | None:
    """Parse the lines with which a frontend was loaded, as :func:`parse_policies`; without policies, ``after`` begins
    where a policy would be.
    """
    found = parse_policies(lines)
    if found is None or found.policies:
        return found
    place = next(
        (at for at, line in enumerate(found.before) if line.startswith(_LINE_PREFIXES_AFTER_POLICIES)),
        len(found.before),
    )
    return msgspec.structs.replace(found, before=found.before[:place], after=found.before[place:])


def _parse_conditions(words: Iterable[str], acls: Mapping[str, str]) -> Iterator[ParsedRule]:
    for word in words:
        yield ParsedRule(definition=acls[word.removeprefix("!")], negated=word.startswith("!"))


# -- what HAProxy loads


def has_policies(lines: Iterable[str]) -> bool:
    """Whether the lines of a frontend have L7 policies."""
    # the prefix first: nearly all lines of a partition are none, and each change looks at all
    return any(line.startswith("acl l7.") and _ACL_PATTERN.match(line) for line in lines)


def allows_live_policies(lines: Sequence[str]) -> bool:
    """Whether a frontend with these lines is loaded with those that let its L7 policies change at runtime, if it has no
    policies: an HTTP frontend without lines that may decide before them.
    """
    return "mode http" in lines and not any(line.startswith(_DECIDING_LINE_PREFIXES) for line in lines)


def add_live_policy_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return a frontend's lines with those that let its L7 policies change at runtime; unchanged if its policies
    cannot be parsed.
    """
    found = _parse_loaded(lines)
    if found is None:
        return lines
    numbers = found.numbers
    # with policies, the caller has put this line before them
    root_path = () if found.policies else (f"http-request set-path / if l7.live {_ROOT_CONDITION}",)
    return (
        *found.before,
        _POOL_CHOSEN_LINE,
        "acl l7.live var(txn.l7) -m found",
        *(f"acl l7.{number} {definition}" for definition, number in numbers.items()),
        f"http-request set-var(txn.l7) fe_name,map({GENERATIONS})",
        *root_path,
        *(
            f"http-request set-var-fmt(txn.l7) %[var(txn.l7)]{number}/ if l7.live l7.{number}"
            for definition, number in numbers.items()
            if _comparison_regex(definition) is None
        ),
        "http-request set-var-fmt(txn.l7)"
        f' "%[var(txn.l7)]{_CLIENT_CERTIFICATE_FACTS}\\n%[req.hdr(host),host_only]\\n%[path]\\n" if l7.live',
        f"http-request set-var(txn.l7) var(txn.l7),map_reg({POLICIES},{_NO_BACKEND}) if l7.live",
        "http-request set-var(txn.pool) var(txn.l7),word(1,|) if l7.live",
        *(_policy_line(policy, numbers) for policy in found.policies),
        *found.after,
        _USE_POOL_LINE,
        *(line for line in lines if line.startswith(_DEFAULT_BACKEND)),
    )


def _policy_line(policy: ParsedPolicy, numbers: Mapping[str, int]) -> str:
    words = (f"{'!' if one.negated else ''}l7.{numbers[one.definition]}" for one in policy.conditions)
    return " ".join((policy.action, "if", "!l7.chosen", *words))


def answer_backend_lines() -> Iterator[str]:
    """Yield the lines of the backend that redirects or refuses requests for policies that were changed at
    runtime; without servers, it answers others with 503.
    """
    for letter, keyword in _REDIRECT_KINDS.items():
        for code in _REDIRECT_CODES:
            value = _redirect_value(letter, str(code))
            target = f"%[var(txn.l7),bytes({len(value)})]"
            yield f"http-request redirect {keyword} {target} code {code} if {{ var(txn.l7) -m beg {value} }}"
    yield f"{_DENY_LINE} if {{ var(txn.l7) -m str {_DENIED} }}"


# -- changes


def plan_live_frontend(
    name: str, current_lines: Sequence[str], wanted_lines: Sequence[str], live: LivePolicies
) -> LiveFrontend | None:
    """Return the frontend ``name`` with the wanted policies as a new generation; None if only a reload can
    bring them, as when other lines differ.

    ``current_lines``: the lines that the frontend has; ``wanted_lines``: those that it should have, whose default
    backend is loaded; ``live``: all policies changed at runtime.
    """
    known = live.frontends.get(name)
    loaded = tuple(current_lines) if known is None else known.loaded
    there, then = _parse_loaded(loaded), parse_policies(wanted_lines)
    # Entries that an earlier daemon added are in the process until its next reload, and may be of any generation.
    if live.unknown or there is None or then is None or there.others != then.others:
        return None
    if then.policies and len(there.before) != len(then.before):
        return None
    # Lines that decide before the backend does, which at runtime redirects and refuses for policies.
    if any(line.startswith(_DECIDING_LINE_PREFIXES) for line in there.others):
        return None
    generation = live.generation + 1
    entries = [_map_entry(policy, there.numbers, generation) for policy in then.policies]
    if there.default != then.default:
        entries.append((_generation_prefix(generation), then.default or _NO_DEFAULT))
    found = tuple(entry for entry in entries if entry is not None)
    if len(found) < len(entries) or live.size + len(found) > POLICY_ENTRIES_MAX:
        return None
    return LiveFrontend(loaded=loaded, generation=generation, entries=found)


def _map_entry(policy: ParsedPolicy, numbers: Mapping[str, int], generation: int) -> tuple[str, str] | None:
    """Return the expression and value of the map's entry for a policy; None if the policy cannot be given at
    runtime.
    """
    value = _map_value(policy.action)
    terms = [_condition_term(one, numbers) for one in policy.conditions]
    if value is None or None in terms:
        return None
    return "".join((_generation_prefix(generation), *(term for term in terms if term is not None))), value


def _generation_prefix(generation: int) -> str:
    return f"^{generation}(?=/)"


def _map_value(action: str) -> str | None:
    if action == _DENY_LINE:
        return _DENIED
    if pool := _POOL_PATTERN.fullmatch(action):
        return pool[1]
    words = shlex.split(action)
    letter = next((letter for letter, keyword in _REDIRECT_KINDS.items() if words[2:3] == [keyword]), "")
    if not letter or len(words) != 6 or words[4] != "code":
        return None
    target = words[3].replace("%%", "%")
    return f"{_redirect_value(letter, words[5])}{target}" if target.isascii() and " " not in target else None


def _redirect_value(letter: str, code: str) -> str:
    return f"{ANSWER_BACKEND}|{letter}{code}|"


def _condition_term(condition: ParsedRule, numbers: Mapping[str, int]) -> str | None:
    """Return the look-ahead expression for a condition; None if its rule is neither loaded nor a comparison
    with a text.
    """
    body, number = _comparison_regex(condition.definition), numbers.get(condition.definition)
    if body is None and number is not None:
        body = f"[^\\n]*/{number}/"
    return None if body is None else f"(?{'!' if condition.negated else '='}{body})"


def _comparison_regex(definition: str) -> str | None:
    """Return the expression for a rule that compares host, path or the client's certificate with a text; None
    for any other rule.
    """
    what, *flags, last, value = shlex.split(definition)
    if last != "--" or len(flags) < 2 or not value:
        return None
    *ignores_case, match, how = flags
    if match != "-m" or ignores_case not in ([], ["-i"]):
        return None
    if not ignores_case and (found := _certificate_regex(what, how, value)):
        return found
    if what not in _REGEX_BEFORE_SAMPLE or how not in _MATCH_EXPRESSIONS:
        return None
    text = "".join(map(_escape_byte, value.encode()))
    return _REGEX_BEFORE_SAMPLE[what] + _MATCH_EXPRESSIONS[how].format(f"(?i:{text})" if ignores_case else text)


def _certificate_regex(sample: str, match_method: str, value: str) -> str:
    """Return the expression for a rule about the client's certificate; empty if the rule is about something
    else or has another match method. ``sample``: HAProxy's sample fetch; ``match_method``: its ``-m``;
    ``value``: what it is compared with.
    """
    if sample in _NUMBERS_BY_SAMPLE and match_method == "int" and value.isdecimal():
        return f"[^\\n]*/{_NUMBERS_BY_SAMPLE[sample]}={int(value)}/"
    field = sample.removeprefix("ssl_c_s_dn(").removesuffix(")")
    if sample == f"ssl_c_s_dn({field})" and field in _NAME_FIELDS and match_method in _HEX_MATCHES:
        return f"[^\\n]*/{field}={_HEX_MATCHES[match_method].format(value.encode().hex().upper())}"
    return ""


def _escape_byte(byte: int) -> str:
    character = chr(byte)
    return character if character.isascii() and (character.isalnum() or character in "/_-") else f"\\x{byte:02x}"


# -- what HAProxy has


def find_externally_changed_frontend(live: LivePolicies, generations: Iterable[str], policies: Iterable[str]) -> str:
    """Return the name of a frontend whose entries are not those of ``live``; empty if there is none.

    ``generations``, ``policies``: entries that HAProxy shows of the two maps.
    """
    seen = dict(_split_entries(generations))
    wanted = {name: f"{one.generation}/" for name, one in live.frontends.items()}
    for name in sorted((seen.keys() | wanted.keys()) - live.unknown):
        if seen.get(name) != wanted.get(name):
            return name
    shown = _split_entries(policies)
    for name, one in live.frontends.items():
        if [entry for entry in shown if entry[0].startswith(_generation_prefix(one.generation))] != list(one.entries):
            return name
    return ""


def _split_entries(entries: Iterable[str]) -> list[tuple[str, str]]:
    pairs = (entry.split(None, 1) for entry in entries)
    return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
