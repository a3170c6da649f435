"""A device type in a package of its own: installed, found, configured, documented, and as good as ours."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from evenkeel.cmd.agent import driver_options, open_device
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS, CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.controllers.capabilities import load_capabilities
from evenkeel.core.ports import Device
from tests.devices.contract import DeviceContract
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, service

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(__file__).parent / "package"
MODULE = "evenkeel_jsonfile"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that the package was installed into, on the path of modules."""
    folder = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(PACKAGE, folder / "source")
    site = folder / "site"
    words = [
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--target",
        str(site),
        str(source),
    ]
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *words],
        check=True,
        timeout=120,
        env={**os.environ, "PIP_CONFIG_FILE": os.devnull},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        yield site
    for name in [name for name in sys.modules if name.partition(".")[0] == MODULE]:
        del sys.modules[name]
    invalidate_caches()


def read(folder: Path, text: str) -> cfg.ConfigOpts:
    file = folder / "agent.ini"
    file.write_text(f"[DEFAULT]\nhost = host-1\nenvironment_prefix = dev\ndevice_driver = jsonfile\n{text}")
    return load_configuration("evenkeel-agent", ["--config-file", str(file)], groups=AGENT_OPTION_GROUPS)


def opened(folder: Path, text: str) -> Device:
    conf = read(folder, text)
    return open_device(conf)


class JsonFileRig:
    """A directory that agents share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = folder / "files"
        self._files.mkdir()

    def agent(self) -> Device:
        return opened(self._folder, f"[jsonfile]\ndirectory = {self._files}\n")

    def held(self) -> dict[str, Any]:
        file = self._files / f"dev_{PROJECT}.json"
        return dict(json.loads(file.read_text())) if file.exists() else {"objects": {}, "foreign": {}}

    def _write(self, held: dict[str, Any]) -> None:
        (self._files / f"dev_{PROJECT}.json").write_text(json.dumps(held))

    async def content(self) -> dict[str, Any]:
        return dict(self.held()["objects"])

    async def spoil(self) -> None:
        held = self.held()
        for value in held["objects"].values():
            value |= {"listeners": [], "pools": [], "admin_state_up": False}
        self._write(held)

    async def add_foreign(self) -> None:
        self._write({**self.held(), "foreign": {"hand-made": True}})

    async def foreign(self) -> dict[str, Any]:
        return dict(self.held()["foreign"])


class TestJsonFile(DeviceContract):
    @pytest.fixture
    def rig(self, installed: Path, tmp_path: Path) -> JsonFileRig:
        return JsonFileRig(tmp_path)


async def test_options_of_a_package_come_from_its_section_and_take_effect(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "seal").write_text("s3al\n")
    text = f"[jsonfile]\ndirectory = {tmp_path}\nprefix = mine\nseal_password_file = {tmp_path}/seal\n"
    assert driver_options(read(tmp_path, text)) == {
        "directory": str(tmp_path),
        "prefix": "mine",
        "lock_timeout": 10.0,
        "seal_password": "s3al",
    }
    await Owner(opened(tmp_path, text)).apply(batch(service()))
    assert json.loads((tmp_path / f"mine_{PROJECT}.json").read_text())["seal"] == "s3al"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[jsonfile]\ndirectry = /x\n",
            r"agent\.ini:\d+: \[jsonfile\] directry: no such option, did you mean directory\?",
        ),
        ("[jsonfle]\ndirectory = /x\n", r"agent\.ini:\d+: \[jsonfle\]: no such section, did you mean \[jsonfile\]\?"),
        ("[jsonfile]\ndirectory = /x\nlock_timeout = 61\n", r"agent\.ini:\d+: \[jsonfile\] lock_timeout: .*60"),
        ("[jsonfile]\n", "^directory: not set"),
    ],
)
def test_wrong_options_are_reported_as_those_of_our_own_drivers(
    installed: Path, tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        opened(tmp_path, text)


def test_files_that_other_processes_share_may_have_its_section(installed: Path, tmp_path: Path) -> None:
    file = tmp_path / "shared.ini"
    file.write_text("[DEFAULT]\nenvironments = dev:jsonfile\n[jsonfile]\ndirectory = /x\n")
    load_configuration("evenkeel-controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)


def test_an_agent_of_it_starts_as_far_as_its_options(installed: Path, tmp_path: Path) -> None:
    file = tmp_path / "agent.ini"
    file.write_text("[DEFAULT]\nhost = h\ndevice_driver = jsonfile\n[jsonfile]\nlock_timeout = 5\n")
    done = subprocess.run(
        [sys.executable, "-m", "evenkeel.cmd.agent", "--config-file", str(file)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )
    assert done.returncode == 2 and "directory: not set" in done.stderr


def test_the_reference_shows_its_options(installed: Path) -> None:
    script = ROOT / "scripts" / "generate_options_reference.py"
    page = subprocess.run(
        [sys.executable, str(script), "--print"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(installed)},
    ).stdout
    assert "## Agent with device_driver = jsonfile, `[jsonfile]`" in page
    lock_timeout = "- `lock_timeout` (number: 0.1 to 60; default `10.0`): Seconds to wait for an agent that is writing"
    assert f"{lock_timeout} a file.\n" in page


def test_the_api_knows_what_it_cannot_do(installed: Path) -> None:
    assert "loadbalancer.additional_vips" not in load_capabilities()["jsonfile"].options
