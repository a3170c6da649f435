"""Strangers' clients of iControl REST, in a virtual environment of their own: f5-sdk with f5-icontrol-rest, bigrest,
and Ansible's collection `f5networks.f5_modules`."""

from pathlib import Path

from tests.services.ansible import collections
from tests.services.installation import environment

_REQUIREMENTS = (
    "f5-sdk==3.0.21", "f5-icontrol-rest==1.3.13", "bigrest==1.7.3", "ansible-core==2.16.14", "setuptools==75.8.0",
)  # fmt: skip
_ANSIBLE = "ansible==9.13.0"


def clients() -> tuple[Path, Path]:
    """The interpreter of the clients' environment, and the folder of Ansible's collections for `PYTHONPATH`."""
    target = environment("icontrol-clients", "1", _REQUIREMENTS)
    return target / "bin" / "python", collections(target, _ANSIBLE, ("f5networks/f5_modules", "ansible/netcommon"))
