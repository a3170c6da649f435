"""No authentication: every caller may do everything. For single hosts; the controller serves this on loopback only."""

from collections.abc import Mapping
from typing import Any

from evenkeel.api.identity.caller import Caller, Headers, checked_project
from evenkeel.core.kit.ids import ProjectId

DEFAULT_PROJECT = "default"

_ADMINISTRATOR = Caller(project_id=ProjectId(DEFAULT_PROJECT), roles=("admin",), is_admin=True)


class NoAuthentication:
    """Accepts every caller as an administrator. ``X-Project-Id`` names the project of created objects."""

    async def identify(self, headers: Headers, scope: Mapping[str, Any]) -> Caller:
        """Return an administrator of the project in ``X-Project-Id``, or of ``default`` without that header.
        Raises :class:`evenkeel.core.kit.errors.Invalid` for an invalid project id.
        """
        given = headers.get(b"x-project-id", b"").decode("latin-1").strip()
        if not given:
            return _ADMINISTRATOR
        return Caller(project_id=checked_project(given, "X-Project-Id"), roles=("admin",), is_admin=True)
