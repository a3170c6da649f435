"""Entry points of further providers.

Octavia finds a provider's driver by an entry point with the provider's name. The package brings ``evenkeel``; others
are written as the metadata of a distribution without code, beside the installed package, where stevedore finds them.
"""

import re
from collections.abc import Collection
from pathlib import Path

DISTRIBUTION_NAME = "evenkeel_octavia_providers"
OWN_PROVIDER = "evenkeel"
_NAME_PATTERN = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def check_names(providers: Collection[str]) -> None:
    """Raise ValueError for a name that a provider cannot have."""
    for name in providers:
        if not _NAME_PATTERN.fullmatch(name):
            raise ValueError(f"provider '{name}' is not allowed: 1 to 64 letters, digits, '_', '.' and '-'")


def write_entry_points(providers: Collection[str], directory: Path, version: str) -> Path:
    """Write entry points for the providers' drivers below ``directory``, a folder of ``sys.path``, replacing those of
    an earlier run; return the folder written. Raises OSError or ValueError.
    """
    check_names(providers)
    folder = directory / f"{DISTRIBUTION_NAME}-1.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} = evenkeel_octavia.driver:EvenKeelDriver" for name in sorted(providers) if name != OWN_PROVIDER]
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {DISTRIBUTION_NAME}\nVersion: {version}\n")
    (folder / "entry_points.txt").write_text("\n".join(["[octavia.api.drivers]", *lines, ""]))
    (folder / "INSTALLER").write_text("evenkeel-octavia\n")
    (folder / "RECORD").write_text("".join(f"{folder.name}/{name},,\n" for name in _METADATA_FILES))
    return folder


_METADATA_FILES = ("METADATA", "entry_points.txt", "INSTALLER", "RECORD")
