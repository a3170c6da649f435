"""Strangers' clients of iControl REST, in a virtual environment of their own: f5-sdk with f5-icontrol-rest, bigrest,
and Ansible's collection `f5networks.f5_modules`, out of the `ansible` package, whose other collections are left."""

import subprocess
import tempfile
import zipfile
from pathlib import Path

from tests.services.installation import INSTALL_SECONDS, NotInstallable, environment, locked

_REQUIREMENTS = (
    "f5-sdk==3.0.21", "f5-icontrol-rest==1.3.13", "bigrest==1.7.3", "ansible-core==2.16.14", "setuptools==75.8.0",
)  # fmt: skip
_ANSIBLE = "ansible==9.13.0"
_COLLECTIONS = tuple(f"ansible_collections/{name}/" for name in ("f5networks/f5_modules", "ansible/netcommon"))
_UNPACKED_BYTES_MAX = 100 * 1024 * 1024


def clients() -> tuple[Path, Path]:
    """The interpreter of the clients' environment, and the folder of Ansible's collections for `PYTHONPATH`."""
    target = environment("icontrol-clients", "1", _REQUIREMENTS)
    python, collections = target / "bin" / "python", target / "collections"
    with locked(target.parent / f"{target.name}.lock"):
        if not (collections / "complete").exists():
            try:
                _unpack(python, collections)
            except (OSError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
                raise NotInstallable(f"{_ANSIBLE} cannot be downloaded: {type(error).__name__}") from error
    return python, collections


def _unpack(python: Path, collections: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", folder]
        subprocess.run([*words, _ANSIBLE], check=True, capture_output=True, timeout=INSTALL_SECONDS)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            wanted = [item for item in wheel.infolist() if item.filename.startswith(_COLLECTIONS)]
            if sum(item.file_size for item in wanted) > _UNPACKED_BYTES_MAX:
                raise zipfile.BadZipFile("the collections are larger than expected")
            wheel.extractall(collections, [item.filename for item in wanted])
    (collections / "complete").touch()
