"""The distribution on the package index, and the extras to install for a feature."""

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires

DISTRIBUTION_NAME = "evenkeel-lbaas"
"""Name of the distribution. It differs from the import package, because ``evenkeel`` on PyPI is another project."""

_REQUIREMENT_PATTERN = re.compile(r"""([A-Za-z0-9._-]++)[^;]*+;\s*+extra\s*+==\s*+['"]([^'"]+)['"]\s*""")
"""A requirement of an extra without other markers, in the package's metadata (PEP 508), where nested extras are
resolved.
"""


def pip_install_command(extra: str) -> str:
    """Return the command that installs an extra of the distribution."""
    return f"pip install '{DISTRIBUTION_NAME}[{extra}]'"


def missing_packages(extra: str) -> list[str]:
    """Return the packages of the extra that are not installed; versions are not checked."""
    return sorted({name for name in _required_packages(extra) if not _is_installed(name)})


def _required_packages(extra: str) -> Iterator[str]:
    """Yield the packages of the extra; none if the program runs from its sources without being installed."""
    try:
        listed = requires(DISTRIBUTION_NAME) or []
    except PackageNotFoundError:
        return
    for line in listed:
        found = _REQUIREMENT_PATTERN.fullmatch(line)
        if found is not None and found[2] == extra:
            yield found[1]


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
