"""Responses that a listener's iRule makes itself: their pages and headers by enhanced services. Pure.

One pass over all parts of the iRule, so that the responses of L7 policies and rate limits have them, too. Their status
is 400, 403, 429 or 503; where no member is available a BIG-IP resets the connection, unless the rule answers in the
event of that.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from evenkeel.config.esd.parts import SECURITY_HEADERS, Parts
from evenkeel.devices.bigip.render.rule_parts import Order, RulePart
from evenkeel.devices.bigip.render.services.texts import Texts

_RESPOND = re.compile(
    r'HTTP::respond (?P<status>\d{3})(?: content "[^"\[\]]*")? noserver(?: "Content-Type" "text/html")?'
)
"""A response with a fixed page or none; one with a page from a data group, as for maintenance, keeps it."""
_NO_MEMBER = "    HTTP::respond 503 noserver"


def with_own_responses(rule: Iterable[RulePart], parts: Parts, texts: Texts) -> Iterator[RulePart]:
    """The parts of the iRule with the definition's pages and security headers in each response."""
    if parts.error_pages is None and parts.security_headers is None and parts.member_connection_limit is None:
        yield from rule
        return
    # clients for whom no member has room, too, get the same as from HAProxy
    if "503" in (parts.error_pages or {}) or parts.member_connection_limit is not None:
        rule = (*rule, RulePart(event="LB_FAILED", order=Order.ADMISSION, lines=(_NO_MEMBER,)))
    for part in rule:
        yield replace(part, lines=tuple(_changed(line, parts, texts) for line in part.lines))


def _changed(line: str, parts: Parts, texts: Texts) -> str:
    if "HTTP::respond" not in line:
        return line
    found = _RESPOND.search(line)
    pages = {str(status): page for status, page in (parts.error_pages or {}).items()}
    if found is not None and (page := pages.get(found["status"])) is not None:
        sent = f'content {texts.word(page.body)} noserver "Content-Type" {texts.word(page.content_type)}'
        line = f"{line[: found.start()]}HTTP::respond {found['status']} {sent}{line[found.end() :]}"
    headers = SECURITY_HEADERS[parts.security_headers] if parts.security_headers is not None else {}
    return " ".join((line, *(f"{texts.word(name)} {texts.word(value)}" for name, value in headers.items())))
