"""The data group with the texts of a listener's enhanced services, and how its iRule reads them.

Texts are percent-encoded records, so that no text becomes code; the code has only the records' names, which
are numbers.
"""

from evenkeel.config.esd.parts import Variable, template_words
from evenkeel.devices.bigip.render.data_groups import encode_record
from evenkeel.devices.bigip.render.request_headers import REMOVE_LINE_BREAKS_CODE


class RuleTexts:
    """Texts that an iRule uses: the records of a data group, in the order of their first use."""

    def __init__(self, group: str, *, over_tls: bool) -> None:
        """``group``: full path of the data group; ``over_tls``: whether clients use TLS."""
        self._group = group
        self._over_tls = over_tls
        self._names: dict[str, str] = {}
        """Name of each record, by its text as it is stored."""

    @property
    def records(self) -> dict[str, str]:
        """Return ``{record name: stored text}`` of the data group, texts percent-encoded, in the order of
        their first use.
        """
        return {name: text for text, name in self._names.items()}

    def tcl_word(self, text: str) -> str:
        """Store a text in the data group, and return Tcl code whose value is that text."""
        name = self._names.setdefault(encode_record(text), str(len(self._names) + 1))
        return f'[URI::decode [class lookup "{name}" {self._group}]]'

    def header_value_code(self, template: str) -> str:
        """Store the literal parts of a header value with variables, and return Tcl code whose value is the header
        value.
        """
        words = [
            (self.tcl_word(literal) if literal else "") + (self._variable_code(name) if name else "")  # type: ignore[arg-type]
            for literal, name in template_words(template)
        ]
        return f'"{"".join(words)}"'

    def _variable_code(self, name: Variable) -> str:
        over_tls: dict[Variable, str] = {
            "tls_version": "[SSL::cipher version]",
            "sni": "[SSL::sni name]",
            "client_certificate_cn": f"[{REMOVE_LINE_BREAKS_CODE} $service_cn]",
        }
        if name in over_tls:
            return over_tls[name] if self._over_tls else ""
        return {
            # without its route domain
            "client_address": "[getfield [IP::client_addr] % 1]",
            "client_port": "[TCP::client_port]",
            "protocol": "https" if self._over_tls else "http",
            # a response has no Host, and a UUID differs each time it is made
            "host": "$service_host",
            "request_id": "$service_request_id",
        }[name]
