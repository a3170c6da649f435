"""Writes the software bill of materials of an environment: CycloneDX 1.6, on standard output.

    PYTHON scripts/sbom.py NAME VERSION LOCK...

NAME and VERSION: the distribution that the document is about. Components are all distributions of the interpreter that
runs this, with their licences; hashes come from the lock files. Nothing depends on the time or the machine, so two runs
give the same bytes.
"""

import json
import re
import sys
import uuid
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

_LOCKED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==\S+", re.MULTILINE)
_SHA256 = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NOT_SHIPPED = frozenset(("pip", "setuptools"))
"""What ``venv`` puts into an environment."""


def normal_name(name: str) -> str:
    """The name as package indexes normalise it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_hashes(text: str) -> dict[str, list[str]]:
    """SHA-256 digests of a lock file's packages, by normal name."""
    starts = list(_LOCKED.finditer(text))
    ends = [*(each.start() for each in starts[1:]), len(text)]
    return {
        normal_name(start[1]): sorted(_SHA256.findall(text[start.end() : end]))
        for start, end in zip(starts, ends, strict=True)
    }


def bill(name: str, version: str, found: Iterable[Distribution], hashes: Mapping[str, list[str]]) -> dict[str, Any]:
    """The document."""
    subject = _identity(name, version)
    components = sorted((_component(each, hashes) for each in found), key=lambda each: str(each["bom-ref"]))
    kept = [each for each in components if each["name"] not in _NOT_SHIPPED and each["bom-ref"] != subject["bom-ref"]]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([subject, kept]))}",
        "version": 1,
        "metadata": {"component": {"type": "application", **subject}},
        "components": kept,
    }


def _component(one: Distribution, hashes: Mapping[str, list[str]]) -> dict[str, Any]:
    identity = _identity(one.metadata["Name"], one.version)
    component: dict[str, Any] = {"type": "library", **identity}
    if "License-Expression" in one.metadata:
        component["licenses"] = [{"expression": one.metadata["License-Expression"]}]
    elif names := _licence_names(one):
        component["licenses"] = [{"license": {"name": each}} for each in names]
    if digests := hashes.get(identity["name"]):
        # one for each file that the index has of the version
        component["properties"] = [{"name": "python:sha256", "value": digest} for digest in digests]
    return component


def _identity(name: str, version: str) -> dict[str, str]:
    normal = normal_name(name)
    purl = f"pkg:pypi/{normal}@{version}"
    return {"bom-ref": purl, "name": normal, "version": version, "purl": purl}


def _licence_names(one: Distribution) -> list[str]:
    classifiers = one.metadata.get_all("Classifier") or []
    return sorted(text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License :: "))


def main(arguments: list[str]) -> None:
    name, version, *locks = arguments
    hashes: dict[str, list[str]] = {}
    for lock in locks:
        hashes |= locked_hashes(Path(lock).read_text())
    print(json.dumps(bill(name, version, distributions(), hashes), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
