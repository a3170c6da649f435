"""Logins of one process at a device: how many, how long their tokens live, and what helps at the limit of tokens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.login import LOGIN_PATH, PASSWORD_USE_SECONDS, TOKENS_PATH
from evenkeel.devices.bigip.icontrol.responses import LoginLost
from evenkeel.devices.bigip.options import parse_options
from icontrol_emulator import Emulator, Fault
from icontrol_emulator.rest.tokens import TOKENS_PER_USER_MAX, TokenBook
from tests.devices.bigip.rig import BigIpRig

PATH = "/mgmt/tm/ltm/pool"
USER = "agent"
USERS = {"admin": "admin", USER: "secret"}
HOUR = 3600.0


class Site:
    """A device, and processes that read from it; its clock is theirs."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    @classmethod
    @asynccontextmanager
    async def started(cls) -> AsyncIterator["Site"]:
        site = cls()
        async with Emulator(["bigip-1"], users=USERS, clock=lambda: site.seconds) as site.emulator:
            site.rig = BigIpRig(site.emulator, "standalone")
            yield site

    @asynccontextmanager
    async def process(self) -> AsyncIterator[IControl]:
        options = parse_options(
            self.rig.options(icontrol_username=USER, icontrol_password="secret"),
            environment="dev",
            group_number=1,
            host="host-1",
        )
        (device,) = self.emulator.devices.values()
        icontrol = IControl(device.url.removeprefix("https://"), options, now=lambda: self.seconds)
        try:
            yield icontrol
        finally:
            await icontrol.close()

    @property
    def tokens(self) -> TokenBook:
        return self.emulator.devices["bigip-1"].tokens

    @property
    def logins(self) -> int:
        """Number of logins so far, refused ones included."""
        return int(self.emulator.request_counts["bigip-1"]["logins"])

    def fill(self) -> None:
        """Let the user have as many tokens as the device allows."""
        while len(self.tokens.of(USER)) < TOKENS_PER_USER_MAX:
            self.tokens.issue(USER, "192.0.2.1")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site.started() as started:
        yield started


async def test_one_token_serves_hours(site: Site) -> None:
    async with site.process() as icontrol:
        for _ in range(18):
            await icontrol.get(PATH)
            site.seconds += HOUR / 2
        assert site.logins == 1
        assert len(site.tokens.of(USER)) == 1
    assert not site.tokens.of(USER)


async def test_a_token_is_replaced_and_deleted_before_it_ends(site: Site) -> None:
    """A device with F5's defect ID1787517 refuses nobody: no token of a process ever expires."""
    site.tokens.frees_expired = False
    async with site.process() as icontrol:
        for _ in range(TOKENS_PER_USER_MAX * 12):
            await icontrol.get(PATH)
            assert len(site.tokens.of(USER)) == 1
            site.seconds += HOUR
        assert TOKENS_PER_USER_MAX < site.logins < 2 * TOKENS_PER_USER_MAX


async def test_a_token_that_cannot_be_prolonged_is_replaced_earlier(site: Site) -> None:
    site.emulator.faults.add(Fault(kind="refuse", method="PATCH", path=TOKENS_PATH))
    async with site.process() as icontrol:
        for _ in range(20):
            await icontrol.get(PATH)
            site.seconds += 120.0
        assert site.logins == 3
        assert len(site.tokens.of(USER)) == 1


async def test_a_token_outlives_a_login_that_fails(site: Site) -> None:
    async with site.process() as icontrol:
        await icontrol.get(PATH)
        site.emulator.faults.add(Fault(kind="busy", path=LOGIN_PATH, count=1))
        site.seconds += 9.5 * HOUR
        await icontrol.get(PATH)
        assert site.logins == 2
        await icontrol.get(PATH)
        assert site.logins == 2
        site.seconds += 60.0
        await icontrol.get(PATH)
        assert site.logins == 3
        assert len(site.tokens.of(USER)) == 1


async def test_at_the_limit_the_users_oldest_tokens_are_deleted(site: Site) -> None:
    site.fill()
    site.seconds += 60.0
    newest = site.tokens.issue("admin", "192.0.2.1")
    async with site.process() as icontrol:
        await icontrol.get(PATH)
        assert len(site.tokens.of(USER)) == TOKENS_PER_USER_MAX // 2 + 1
        assert site.tokens.get(newest.name)


async def test_a_process_whose_token_was_deleted_logs_in_again(site: Site) -> None:
    async with site.process() as first, site.process() as second:
        await first.get(PATH)
        site.tokens.end_all(USER)
        site.fill()
        await second.get(PATH)
        await first.get(PATH)


async def test_the_password_replaces_tokens_that_cannot_be_had(site: Site) -> None:
    limit = site.emulator.faults.add(Fault(kind="token_limit"))
    async with site.process() as icontrol:
        await icontrol.get(PATH)
        asked = site.logins
        await icontrol.get(PATH)
        assert site.logins == asked
        assert not site.tokens.of(USER)
        site.emulator.faults.remove(limit)
        site.seconds += PASSWORD_USE_SECONDS
        await icontrol.get(PATH)
        assert len(site.tokens.of(USER)) == 1


async def test_a_password_that_is_refused_is_not_sent_again(site: Site) -> None:
    """Users whom another system authenticates have tokens only."""
    site.emulator.faults.add(Fault(kind="token_limit"))
    async with site.process() as icontrol:
        await icontrol.get(PATH)
        await site.rig.hands.call("PATCH", f"auth/user/{USER}", {"password": "another"})
        for _ in range(3):
            with pytest.raises(LoginLost, match=f"user {USER} has as many tokens as it allows"):
                await icontrol.get(PATH)
        asked = site.logins
        with pytest.raises(DeviceUnavailable):
            await icontrol.get(PATH)
        assert site.logins == asked
