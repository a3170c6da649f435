"""The systemd unit of the package: what it takes away must not be what the daemon needs."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.haproxyd.api.tls import authority_key_advice, make_certificates
from evenkeel.haproxyd.haproxy.worker_users import MASTER_CAPABILITIES, missing_privileges, read_privileges
from tests.haproxyd.daemonworld import Daemon, Traffic, balancer
from tests.haproxyd.haproxy.test_worker_users import change, pids, seen
from tests.haproxyd.world import Member
from tests.services.process import free_port
from tests.waiting import eventually

UNIT = Path(__file__).parents[2] / "packaging" / "systemd" / "evenkeel-haproxyd.service"
EXPOSURE_MAX = 35
"""Tenths, as systemd-analyze counts; 100 is everything."""


def unit() -> str:
    return UNIT.read_text()


def words_of(option: str) -> list[str]:
    """All of an option that adds up."""
    return " ".join(re.findall(rf"^{option}=(.*)$", unit(), re.MULTILINE)).split()


def test_unit_has_the_capabilities_that_workers_of_other_users_need():
    assert set(words_of("CapabilityBoundingSet")) == {"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", *MASTER_CAPABILITIES}
    assert words_of("User") == []
    assert "chroot" in words_of("SystemCallFilter")  # is in none of the sets


def test_unit_lets_haproxys_outlive_the_daemon_and_hides_the_cas_key():
    assert words_of("KillMode") == ["process"] and words_of("RuntimeDirectoryPreserve") == ["yes"]
    assert words_of("InaccessiblePaths") == ["-/etc/evenkeel/haproxyd/ca.key"]
    assert words_of("NoNewPrivileges") == ["yes"] and words_of("ProtectSystem") == ["strict"]
    assert words_of("UMask") == ["0077"] and words_of("LimitCORE") == ["0"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_takes_it_and_finds_it_tight(tmp_path):
    path = tmp_path / "evenkeel-haproxyd.service"
    path.write_text(unit().replace("/opt/evenkeel/bin/evenkeel-haproxyd", "/bin/true"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False, timeout=300
    )
    assert (verified.returncode, verified.stderr) == (0, "")
    words = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", path]
    assert subprocess.run(words, capture_output=True, check=False, timeout=300).returncode == 0


@pytest.fixture
async def daemon() -> AsyncIterator[Daemon]:
    capabilities = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in words_of("CapabilityBoundingSet"))
    with tempfile.TemporaryDirectory(prefix="evenkeel-") as folder:
        made = Daemon(Path(folder))
        made.prefix = ("setpriv", "--no-new-privs", f"--bounding-set=-all,{capabilities}")
        try:
            yield made
        finally:
            made.clean_up()


@pytest.mark.skipif(
    bool(missing_privileges(read_privileges(os.getpid()))), reason="only root may run workers as another user"
)
async def test_workers_change_hands_and_end_with_the_powers_that_are_left(daemon: Daemon):
    member, port = Member("a"), free_port()
    await member.start()
    await daemon.start()
    async with daemon.client() as client, Traffic(port).flowing() as traffic:
        await client.patch("p", change(balancer(port, member)))
        await eventually(lambda: traffic.answered)
        traffic.failed.clear()  # before there was anything
        master = min(pids(daemon))
        for revision in (2, 3):
            await client.patch("p", change(balancer(port, member, revision=revision, dynamic=revision != 2)))
        daemon.kill()
        await daemon.start()
    assert traffic.failed == []
    now = pids(daemon)
    assert master in now and {0} < {seen(pid).uid for pid in now}
    daemon.terminate()
    daemon.stop_haproxy()
    await eventually(lambda: not pids(daemon))
    await member.stop()


def test_an_authoritys_key_that_the_daemon_can_read_is_reported_unless_it_is_roots(tmp_path, monkeypatch):
    files = make_certificates(tmp_path / "tls", ["localhost"])
    assert files.authority_key.stat().st_mode & 0o077 == files.folder.stat().st_mode & 0o077 == 0
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert authority_key_advice(files.certificate) == ""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert str(files.authority_key) in authority_key_advice(files.certificate)
    files.authority_key.unlink()
    assert authority_key_advice(files.certificate) == ""
