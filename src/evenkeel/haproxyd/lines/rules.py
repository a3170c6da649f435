"""Rules for the lines of a frontend or backend: first words, actions, and files that lines may read. Pure."""

from collections.abc import Collection, Sequence

from evenkeel.haproxyd.lines.file_references import FileKinds, forbidden_file
from evenkeel.haproxyd.lines.words import QUOTING_DESCRIPTION, split_line

_SHARED_KEYWORDS = (
    "acl",
    "capture",
    "compression",
    "cookie",
    "declare",
    "error-log-format",
    "http-after-response",
    "http-error",
    "http-request",
    "http-response",
    "log-format",
    "log-format-sd",
    "mode",
    "option",
    "redirect",
    "retries",
    "stick-table",
    "tcp-request",
    "tcp-response",
    "timeout",
)
KEYWORDS_BY_SECTION = {
    "frontend": frozenset((*_SHARED_KEYWORDS, "default_backend", "backlog", "monitor-uri", "unique-id-format",
                           "unique-id-header", "use_backend", "rate-limit")),
    "backend": frozenset((*_SHARED_KEYWORDS, "balance", "dynamic-cookie-key", "force-persist", "fullconn",
                          "hash-balance-factor", "hash-type", "http-check", "http-reuse", "http-send-name-header",
                          "ignore-persist", "load-server-state-from-file", "retry-on", "stick", "tcp-check",
                          "use-server")),
}  # fmt: skip
"""Keywords that lines may start with, by kind of section; without keywords that open another section, listen, define
servers or run programs."""

_HTTP_ACTIONS = frozenset(
    (
        "add-header", "allow", "auth", "capture", "del-header", "deny", "disable-l7-retry", "early-hint",
        "normalize-uri", "redirect", "reject", "replace-header", "replace-path", "replace-pathq", "replace-uri",
        "replace-value", "return", "sc-add-gpc", "sc-inc-gpc", "sc-inc-gpc0", "sc-inc-gpc1", "sc-set-gpt",
        "sc-set-gpt0", "set-header", "set-log-level", "set-method", "set-path", "set-pathq", "set-priority-class",
        "set-priority-offset", "set-query", "set-status", "set-timeout", "set-uri", "set-var", "set-var-fmt",
        "silent-drop", "strict-mode", "tarpit", "track-sc0", "track-sc1", "track-sc2", "unset-var", "wait-for-body",
        "wait-for-handshake",
    )
)  # fmt: skip
_TCP_ACTIONS = frozenset(
    (
        "accept", "capture", "close", "expect-proxy", "reject", "sc-add-gpc", "sc-inc-gpc", "sc-inc-gpc0",
        "sc-inc-gpc1", "sc-set-gpt", "sc-set-gpt0", "set-log-level", "set-priority-class", "set-priority-offset",
        "set-var", "set-var-fmt", "silent-drop", "switch-mode", "track-sc0", "track-sc1", "track-sc2", "unset-var",
    )
)  # fmt: skip
_CHECK_KEYWORDS = frozenset(
    (
        "comment", "disable-on-404", "expect", "send", "send-binary", "send-binary-lf", "send-lf", "send-state",
        "set-var", "set-var-fmt", "unset-var",
    )
)  # fmt: skip
_ALLOWED_OPTIONS = frozenset(
    (
        "abortonclose", "allbackups", "checkcache", "clitcpka", "contstats", "dontlog-normal", "dontlognull",
        "forwardfor", "h1-case-adjust-bogus-client", "h1-case-adjust-bogus-server", "http-buffer-request",
        "http-ignore-probes", "http-keep-alive", "http-no-delay", "http-pretend-keepalive",
        "http-restrict-req-hdr-names", "http-server-close", "http-use-proxy-header", "httpchk", "httpclose", "httplog",
        "httpslog", "idle-close-on-response", "independent-streams", "ldap-check", "log-health-checks",
        "log-separate-errors", "logasap", "mysql-check", "nolinger", "originalto", "persist", "pgsql-check",
        "prefer-last-server", "redis-check", "redispatch", "smtpchk", "socket-stats", "splice-auto", "splice-request",
        "splice-response", "spop-check", "srvtcpka", "ssl-hello-chk", "tcp-check", "tcp-smart-accept",
        "tcp-smart-connect", "tcpka", "tcplog",
    )
)  # fmt: skip
_RULE_STAGES = frozenset(("connection", "content", "session"))
_INSPECTION_KEYWORD = "inspect-delay"
ALLOWED_ACTIONS_BY_WORD = {
    "http-after-response": _HTTP_ACTIONS,
    "http-check": _CHECK_KEYWORDS,
    "http-request": _HTTP_ACTIONS,
    "http-response": _HTTP_ACTIONS,
    "option": _ALLOWED_OPTIONS,
    "tcp-check": _CHECK_KEYWORDS,
    "tcp-request": _TCP_ACTIONS,
    "tcp-response": _TCP_ACTIONS,
}
"""``{first word of a line: allowed actions, checks and options}``.

Excluded are those that connect to another address than a server's (``set-dst``, ``do-resolve``, ``attach-srv``,
``connect``, ``transparent``), change maps and ACLs by their file, spoof a source, or run services, Lua and agents
(``use-service``, ``send-spoe-group``).
"""


def line_problem(line: str, keywords: Collection[str], kinds: FileKinds) -> str:
    """Return the reason to refuse this line of configuration; empty if it is accepted.

    ``keywords``: words with which it may begin; ``kinds``: kind by name of the load balancer's files.
    """
    words = split_line(line)
    if words is None:
        return f"a line has other quoting than is allowed: {QUOTING_DESCRIPTION}"
    if not words or words[0] not in keywords:
        given = words[0] if words else ""
        return f"a line begins with {given[:60]!r}; allowed: {', '.join(sorted(keywords))}"
    if excluded := _excluded_action(words):
        return (
            f"a line has {excluded[:60]!r}; only servers determine where a connection goes, and nothing else is run; "
            f"allowed after {words[0]}: {', '.join(sorted(ALLOWED_ACTIONS_BY_WORD[words[0]]))}"
        )
    if file := forbidden_file(words, kinds):
        return f"a line reads {file[:60]!r}; files of the load balancer alone, by their names, are allowed"
    return ""


def _excluded_action(words: Sequence[str]) -> str:
    """Return the word in the place of the line's action if that action is not allowed (``no action`` if the
    word is missing); empty if it is allowed, or lines of this keyword have no action.
    """
    allowed = ALLOWED_ACTIONS_BY_WORD.get(words[0])
    if allowed is None:
        return ""
    rest = words[1:]
    if words[0].startswith("tcp-re"):
        # `tcp-request inspect-delay` sets a time and has no action.
        if rest[:1] == (_INSPECTION_KEYWORD,):
            return ""
        if rest[:1] and rest[0] in _RULE_STAGES:
            rest = rest[1:]
    # An action may have arguments in parentheses, as in `set-var(txn.name)`.
    action = rest[0].partition("(")[0] if rest else ""
    return "" if action in allowed else action or "no action"
