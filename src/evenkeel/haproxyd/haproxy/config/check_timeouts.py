"""Time-outs of health checks on every HAProxy. Pure.

HAProxy 2.6.12 and 3.0.11 end a check without an answer at the shorter of ``inter`` and ``timeout connect``,
not at ``timeout check``, once they check other servers too (tested): what is set when the member has accepted
the connection does not reach the timer. 2.8.25, 3.2.26 and 3.4.7 end the check in time; by the changelogs
2.8.16 and 3.2.1 corrected it ("Requeue healthchecks on I/O events"). With the others ``timeout connect`` is
the check's time-out where that is less. ``timeout connect`` applies to clients' connections too: HAProxy has
no separate time-out for connects of checks.
"""

import re
from collections.abc import Iterable, Iterator

KEEPS_CHECK_TIMEOUT_CONDITION = "version_atleast(3.2.1) || version_atleast(2.8.16) && version_before(2.9)"
"""HAProxy's condition for versions that end a check in time; must agree with
:attr:`~evenkeel.haproxyd.haproxy.binary.HaproxyBinary.keeps_check_timeout`.
"""
_TIMEOUT_PATTERN = re.compile(r"timeout (check|connect) (\d+)(ms|s)")
_MILLISECONDS_BY_UNIT = {"ms": 1, "s": 1000}


def limit_connect_timeout(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a backend, with ``timeout connect`` limited to ``timeout check`` on HAProxys that end checks
    early.

    A condition in the lines selects between both kinds of HAProxy.
    """
    lines = tuple(lines)
    shorter, check, connect = limits_client_connects(lines), *_find_check_and_connect_timeouts(lines)
    for line in lines:
        if shorter and check is not None and connect is not None and line == connect[0]:
            # HAProxy evaluates the condition itself, so the file does not depend on the version that reads it.
            yield from (
                f".if {KEEPS_CHECK_TIMEOUT_CONDITION}",
                line,
                ".else",
                f"timeout connect {_timeout_milliseconds(check)}ms",
                ".endif",
            )
        else:
            yield line


def limits_client_connects(lines: Iterable[str]) -> bool:
    """Whether the lines' ``timeout check`` is shorter than their ``timeout connect``, so that clients'
    connections get the former where HAProxy ends checks early; False if either is missing.
    """
    check, connect = _find_check_and_connect_timeouts(lines)
    return check is not None and connect is not None and _timeout_milliseconds(check) < _timeout_milliseconds(connect)


def _find_check_and_connect_timeouts(lines: Iterable[str]) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    """Return the matches for the lines ``timeout check`` and ``timeout connect``; None for a missing one."""
    found = {match[1]: match for match in map(_TIMEOUT_PATTERN.fullmatch, lines) if match}
    return found.get("check"), found.get("connect")


def _timeout_milliseconds(found: re.Match[str]) -> int:
    return int(found[2]) * _MILLISECONDS_BY_UNIT[found[3]]
