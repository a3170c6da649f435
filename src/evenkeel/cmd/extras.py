"""The distribution on the package index, and what of it to install for a feature."""

DISTRIBUTION = "evenkeel-lbaas"
"""Its name is not that of the import package: ``evenkeel`` on PyPI is another project."""


def pip_install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
