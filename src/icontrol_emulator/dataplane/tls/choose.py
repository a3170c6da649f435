"""Which client-ssl profile of a virtual server answers a client: by the server name it sends.

A profile goes by its server name, which may begin with `*.`, or without one by the names of its certificate. Whoever
asks for none of them gets the profile that is the default for SNI, unless that one requires a name it knows.
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
from icontrol_emulator.dataplane.tls.plan import NOT_GIVEN, client_side

Profile = tuple[str, Mapping[str, Any]]
"""Path and properties in effect."""


@dataclass(slots=True)
class TlsChoice:
    """Asked once, by the server name of one client; keeps the path of the profile it chose."""

    engine: Engine
    profiles: Sequence[Profile]
    protocols: tuple[str, ...] = ()
    chosen: str = ""

    def __call__(self, name: str) -> SSL.Context:
        path, props = self._pick(name.rstrip("."))
        self.chosen = path
        return server_context(client_side(self.engine, props, self.protocols))

    def _pick(self, name: str) -> Profile:
        if name:
            for wanted in (name, f"*.{name.partition('.')[2]}"):
                for profile in self.profiles:
                    if wanted in self._names(profile[1]):
                        return profile
        default = default_of(self.profiles)
        if default[1].get("sniRequire") == "true":
            raise Unusable("a server name that is served is required")
        return default

    def _names(self, props: Mapping[str, Any]) -> set[str]:
        given = str(props.get("serverName") or "none").lower()
        if given not in NOT_GIVEN:
            return {given}
        return {name.lower() for entry in chain_of(props) for name in self._certified(str(entry.get("cert")))}

    def _certified(self, path: str) -> list[str]:
        cert = self.engine.store.get(Key(CERT, "", path))
        return pem.names(pem.certificates(text_of(cert))[0]) if cert is not None else []


def default_of(profiles: Sequence[Profile]) -> Profile:
    """The profile for whom no name decides."""
    return next((each for each in profiles if each[1].get("sniDefault") == "true"), profiles[0])
