"""The demo's Octavia: what is decided before anything is started."""

from pathlib import Path

import pytest

from evenkeel.demo.__main__ import main, octavia_environment
from evenkeel.demo.addresses import VipAddress
from evenkeel.demo.octavia import installation, mariadb
from evenkeel.demo.octavia.files import OctaviaFiles
from evenkeel.demo.processes import DemoProcess, ProcessFailed
from tests.services.octavia import VERSION


def test_demo_behind_octavia_without_mariadb_is_refused_with_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mariadb, "_SEARCH_PATH", str(tmp_path))
    home = tmp_path / "demo"
    assert main(["--octavia", "--once", "--directory", str(home)]) == 2
    told = capsys.readouterr().err
    assert "mariadbd is not installed" in told and "apt-get install mariadb-server" in told
    assert not home.exists()


def test_lock_of_the_demos_octavia_pins_the_version_that_the_tests_run() -> None:
    assert f"octavia=={VERSION} " in installation.LOCK_FILE.read_text()


def test_environment_of_octavia_is_installed_again_when_the_lock_has_changed(tmp_path: Path) -> None:
    assert not installation.is_installed(tmp_path)
    (tmp_path / "evenkeel-octavia").write_bytes(installation.LOCK_FILE.read_bytes())
    assert installation.is_installed(tmp_path)
    (tmp_path / "evenkeel-octavia").write_text("another")
    assert not installation.is_installed(tmp_path)


def test_environment_of_octavia_that_is_named_is_used_as_it_is(tmp_path: Path) -> None:
    assert octavia_environment(tmp_path) == tmp_path


def test_installation_without_a_lock_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "LOCK_FILE", Path("/nowhere/octavia.txt"))
    with pytest.raises(ProcessFailed, match="needs a checkout"):
        installation.install_octavia(Path("/nowhere/venv"))


def test_files_of_octavia_name_provider_environment_and_controllers(tmp_path: Path) -> None:
    files = OctaviaFiles(
        tmp_path, database="mysql+pymysql://db", environments={"evenkeel": "demo"}, options={"controllers": "http://c"}
    )
    text = files.configuration.read_text()
    for line in ("providers = evenkeel: demo", "controllers = http://c", "connection = mysql+pymysql://db"):
        assert line in text.splitlines()
    points = (files.plugins / "evenkeel_octavia-0.dist-info" / "entry_points.txt").read_text()
    assert "[octavia.api.drivers]" in points
    assert not files.sockets_exist()


@pytest.mark.parametrize(("address", "second"), [("127.0.7.10", "127.0.7.11"), ("127.0.0.1", None)])
def test_second_address_is_beside_the_first_where_more_than_one_can_be_bound(address: str, second: str | None) -> None:
    assert VipAddress(cidr="127.0.7.0/24", address=address, port=1).second_address == second


async def test_program_that_fails_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    program = DemoProcess("tool", ["sh", "-c", "echo no such table; exit 3"], log=tmp_path / "log")
    with pytest.raises(ProcessFailed, match=r"exit code 3.*failed\n.*\nno such table"):
        await program.run(timeout_seconds=60.0)
