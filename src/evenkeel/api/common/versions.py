"""Versions of the controllers that run: an older one cannot interpret all values that a newer one stores."""

from evenkeel.api.common.services import Services


async def version_problem(services: Services) -> str:
    """Return the reason for refusing a request that needs all live controllers to have the same version,
    because older ones would misunderstand the values to be stored. Empty if all have the same version.
    """
    versions = sorted({row.version for row in await services.operators.controllers() if row.alive})
    return f"controllers run versions {' and '.join(versions)}: upgrade all of them first" if versions[1:] else ""
