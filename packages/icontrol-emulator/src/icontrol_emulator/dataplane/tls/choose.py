"""Selection of a virtual server's client-ssl profile by the client's server name (SNI).

A profile matches by its server name, which may start with `*.`, or, if it has none, by the names of its certificate.
For other names the profile that is the default for SNI is used, unless it requires a known name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from OpenSSL import SSL

from icontrol_emulator.config import pem
from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.rules.files import CERT, text_of
from icontrol_emulator.config.rules.ssl import chain_of
from icontrol_emulator.dataplane.tls.contexts import Unusable, server_context
from icontrol_emulator.dataplane.tls.plan import NOT_GIVEN, TlsPlan, client_side

Profile = tuple[str, Mapping[str, Any]]
"""Path and effective properties."""


class ServerNames:
    """The client-ssl profiles of a virtual server by the names they match, at one moment.

    Contains everything that a handshake needs: a client accepted before a change may send its ClientHello after it,
    when the previous files are gone.
    """

    def __init__(self, engine: Engine, profiles: Sequence[Profile], protocols: tuple[str, ...]) -> None:
        self._default = default_of(profiles)
        self._by_name: dict[str, Profile] = {}
        self._plans = {path: client_side(engine, props, protocols) for path, props in profiles}
        for profile in profiles:
            for name in _names(engine, profile[1]):
                self._by_name.setdefault(name, profile)

    def find(self, name: str) -> tuple[str, TlsPlan]:
        """Path and plan of the profile for this server name, which is empty if the client sent none. Raises
        `Unusable`."""
        known = self._by_name
        found = known.get(name) or known.get(f"*.{name.partition('.')[2]}") if name else None
        if found is None and self._default[1].get("sniRequire") == "true":
            raise Unusable("a server name that is served is required")
        path = (found or self._default)[0]
        return path, self._plans[path]


@dataclass(slots=True)
class TlsChoice:
    """Called once per client with its server name; stores the path of the selected profile."""

    names: ServerNames
    chosen: str = ""

    def __call__(self, name: str) -> SSL.Context:
        self.chosen, plan = self.names.find(name.rstrip("."))
        return server_context(plan)


def default_of(profiles: Sequence[Profile]) -> Profile:
    """The profile for clients whose server name matches none."""
    return next((each for each in profiles if each[1].get("sniDefault") == "true"), profiles[0])


def _names(engine: Engine, props: Mapping[str, Any]) -> set[str]:
    given = str(props.get("serverName") or "none").lower()
    if given not in NOT_GIVEN:
        return {given}
    found: set[str] = set()
    for entry in chain_of(props):
        cert = engine.store.get(Key(CERT, "", str(entry.get("cert"))))
        if cert is not None:
            found |= {name.lower() for name in pem.names(pem.certificates(text_of(cert))[0])}
    return found
