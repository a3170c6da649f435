"""Responses that a listener's iRule makes itself, with the pages and security headers of its enhanced
services.

The code of L7 policies, rate limits and enhanced services gets each command that responds from here. Where no
member is available a BIG-IP resets the connection, unless the rule responds to the event ``LB_FAILED``.
"""

from collections.abc import Mapping

from evenkeel.config.esd.parts import SECURITY_HEADERS, Parts, ResponsePage
from evenkeel.devices.bigip.render.services.texts import RuleTexts


class RuleResponses:
    """Renders the responses of one listener's iRule. ``texts``: collects the pages and headers that they use."""

    def __init__(self, parts: Parts, texts: RuleTexts) -> None:
        self.texts = texts
        self._pages: Mapping[str, ResponsePage] = {str(name): page for name, page in (parts.error_pages or {}).items()}
        self._headers = SECURITY_HEADERS[parts.security_headers] if parts.security_headers is not None else {}

    def respond_command(
        self, status: int | str, *headers: str, page: ResponsePage | None = None, html: str = ""
    ) -> str:
        """Return Tcl code that responds to the request, and store the texts that the code uses in ``texts``.

        ``status``: a number, or Tcl code of one; ``headers``: Tcl code of names and values in turn; ``page``:
        the body, instead of the listener's error page for the status; ``html``: Tcl code of the body if there
        is no page.
        """
        found = page or self._pages.get(str(status))
        words = ["HTTP::respond", str(status)]
        if found is not None:
            words += ["content", self.texts.tcl_word(found.body), "noserver"]
            words += ['"Content-Type"', self.texts.tcl_word(found.content_type)]
        elif html:
            words += ["content", html, "noserver", '"Content-Type"', '"text/html"']
        else:
            words.append("noserver")
        words += headers
        for name, value in self._headers.items():
            words += [self.texts.tcl_word(name), self.texts.tcl_word(value)]
        return " ".join(words)

    def has_page(self, status: int) -> bool:
        """Whether the listener has an error page for responses with this status."""
        return str(status) in self._pages
