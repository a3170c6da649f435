"""Documents that need no authentication: the list of API versions, and the health check."""

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Operation, RouteMap
from evenkeel.api.operators.status import Readiness, check_readiness
from evenkeel.api.policy.names import PUBLIC
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.core.kit.values import Value

MINOR_VERSIONS = 30
"""The newest Octavia minor version with all features supported: 2.30, members on virtual functions."""
UPDATED = "2026-08-01T00:00:00Z"


class VersionLink(Value):
    """URL of an API version."""

    href: str
    rel: str


class Version(Value):
    """A version of the Octavia API."""

    id: str
    status: str
    updated: str
    links: list[VersionLink]


class Versions(Value):
    """The list of API versions."""

    versions: list[Version]


class Health(Value):
    """Response of the liveness check: this process and its database answer."""

    status: str
    """``ok``, or ``read_only``: the database accepts no writes."""


async def list_versions(services: Services, call: Call) -> Answer:
    """Handle GET /: list all versions, all served at ``/v2``."""
    link = VersionLink(href=f"{call.base_url}/v2", rel="self")
    return json_answer(
        Versions(
            versions=[
                Version(
                    id=f"v2.{minor}",
                    status="CURRENT" if minor == MINOR_VERSIONS else "SUPPORTED",
                    updated=UPDATED,
                    links=[link],
                )
                for minor in range(MINOR_VERSIONS + 1)
            ]
        )
    )


async def check_health(services: Services, call: Call) -> Answer:
    """Handle GET /healthz: 200 if the database answers. A database that accepts no writes counts as
    answering, because no other controller could do more. Raises :class:`Unavailable` (503) if it does not
    answer.
    """
    await services.ping()
    return json_answer(Health(status="read_only" if services.write_problem() else "ok"))


def _versions_operation(path: str) -> Operation:
    return Operation(
        method="GET",
        path=path,
        handle=list_versions,
        summary="List API versions",
        rule=PUBLIC,
        answer=Versions,
        hidden=path != "/",
    )


DISCOVERY_ROUTES = RouteMap(
    tag="Discovery",
    prefixes=("",),
    operations=(
        _versions_operation("/"),
        _versions_operation("/v2"),
        _versions_operation("/v2.0"),
        Operation(
            method="GET", path="/healthz", handle=check_health, summary="Can it serve?", rule=PUBLIC, answer=Health
        ),
        Operation(
            method="GET",
            path="/healthz/ready",
            handle=check_readiness,
            summary="Is the whole system without problems?",
            rule=PUBLIC,
            answer=Readiness,
            errors=(503,),
        ),
    ),
)
