"""Versions of the controllers that run: an older one cannot interpret all values that a newer one stores."""

from evenkeel.api.common.services import Services


async def version_problem(services: Services) -> str:
    """Return why a request must not store values that older controllers misunderstand: live controllers run
    several versions; empty if all have the same version.
    """
    versions = sorted({row.version for row in await services.operators.controllers() if row.alive})
    return f"controllers run versions {' and '.join(versions)}: upgrade all of them first" if versions[1:] else ""
