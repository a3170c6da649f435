"""Passphrases of encrypted cookies: the same on all devices and for all agents, and nowhere else."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.ports import Reloadable
from evenkeel.devices.https import HttpsTransport
from icontrol_emulator.config.secrets import revealed
from tests.devices.bigip.rig import BigIpRig
from tests.devices.service_behaviour import sticky
from tests.devices.services import batch, listener, pool, service

SECRET = "one secret of the operator, long enough"
OTHER = "another secret of the operator, also long enough"
HTTP, PERSISTENCE = "ltm/profile/http", "ltm/persistence/cookie"
NAMES = {HTTP: "encryptCookieSecret", PERSISTENCE: "cookieEncryptionPassphrase"}


def using(revision: int = 1) -> ServiceDefinition:
    return service(
        members=1,
        revision=revision,
        listeners=(listener(enhanced_services=("web",)),),
        pools=(pool(members=1, session_persistence=sticky("HTTP_COOKIE", "SRV")),),
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "esd.json").write_text(json.dumps({"web": {"cookie_encryption": {"cookies": ["session"]}}}))
    return tmp_path


async def passphrases(rig: BigIpRig, device: str = "bigip-1") -> set[str]:
    """What the objects on a device have."""
    hands = type(rig.hands)(rig.emulator, device)
    items = [(kind, item) for kind in NAMES for item in (await hands.items(kind)).values()]
    return {text for kind, item in items if (text := revealed(item.get(NAMES[kind])))}


def errors(outcome: Any) -> list[str]:
    return [one.error for one in outcome.outcomes if one.error]


async def test_passphrase_is_the_same_on_each_device_and_after_a_takeover(pair: BigIpRig, directory: Path) -> None:
    owner = pair.owner(esd_dir=str(directory), cookie_password=SECRET)
    assert not errors(await owner.apply(batch(using())))
    first = await passphrases(pair)
    assert first == await passphrases(pair, "bigip-2") and len(first) == 1
    assert SECRET not in first
    other = pair.owner(esd_dir=str(directory), cookie_password=SECRET)
    for _ in range(2):
        outcome = await other.apply(batch(using(), epoch=2, complete=True))
        assert (errors(outcome), outcome.repaired) == ([], ())
    assert outcome.writes == 0
    assert await passphrases(pair) == first


async def test_another_secret_reaches_the_users_without_a_restart(rig: BigIpRig, directory: Path) -> None:
    owner = rig.owner(esd_dir=str(directory), cookie_password=SECRET)
    await owner.apply(batch(using(), service(2)))
    first = await passphrases(rig)
    await owner.enhanced_services()
    (agent,) = rig.agents
    assert isinstance(agent, Reloadable) and "cookie_password_file" in agent.reloaded_options
    agent.reload(rig.options(esd_dir=str(directory), cookie_password=OTHER))
    found = await owner.enhanced_services()
    assert list(found.due.values()) == [("lb-1",)]
    outcome = await owner.apply(batch(using()))
    assert (errors(outcome), outcome.repaired) == ([], ())
    second = await passphrases(rig)
    assert len(second) == 1 and second != first
    assert (await owner.apply(batch(using(), service(2), complete=True))).writes == 0


async def test_encryption_ends_with_its_service(rig: BigIpRig, directory: Path) -> None:
    owner = rig.owner(esd_dir=str(directory), cookie_password=SECRET)
    plain = msgspec.structs.replace(using(), listeners=(listener(),))
    await owner.apply(batch(plain))
    before = await rig.content()
    await owner.apply(batch(using(2)))
    assert await passphrases(rig)
    await owner.apply(batch(msgspec.structs.replace(plain, revision=3), complete=True))
    assert await rig.content() == before


async def test_a_passphrase_is_in_no_message(rig: BigIpRig, directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    owner = rig.owner(esd_dir=str(directory), cookie_password=SECRET)
    await owner.apply(batch(service(2)))
    planned = await owner.plan(batch(using()))
    assert any("http-" in operation.name for plan in planned for operation in plan.operations)
    outcome = await owner.apply(batch(using()))
    services = await owner.enhanced_services()
    (passphrase,) = await passphrases(rig)
    shown = [str(msgspec.json.encode(planned)), repr(outcome), repr(services), repr(capfd.readouterr())]
    assert [text for text in shown if passphrase in text or SECRET in text] == []


async def test_a_refusal_that_repeats_a_passphrase_is_not_reported(
    rig: BigIpRig, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = HttpsTransport.exchange
    sent: list[str] = []
    queued: list[str] = []

    async def repeating(
        self: HttpsTransport, method: str, target: str, body: bytes | None = None, **named: Any
    ) -> tuple[int, bytes]:
        content = json.loads(body) if body else {}
        queued.extend(content[name] for name in NAMES.values() if name in content)
        if queued and content.get("state") == "VALIDATING":
            reason = {"code": 400, "message": f"transaction failed: 01070001:3: bad value {queued[0]}"}
            sent.extend(queued)
            queued.clear()
            return 400, json.dumps(reason).encode()
        return await exchange(self, method, target, body, **named)

    monkeypatch.setattr(HttpsTransport, "exchange", repeating)
    outcome = await rig.owner(esd_dir=str(directory), cookie_password=SECRET).apply(batch(using()))
    assert sent and sent[0] not in repr(outcome)
    assert "it repeats a secret that was sent" in errors(outcome)[0]


async def test_without_a_secret_the_definition_is_unusable(rig: BigIpRig, directory: Path) -> None:
    owner = rig.owner(esd_dir=str(directory))
    found = await owner.enhanced_services()
    problem = "esd.json: enhanced service 'web': cookie_encryption: the agent's option cookie_password is not set"
    assert [one.problem for one in found.services] == [problem]
    assert errors(await owner.apply(batch(using()))) == [problem]


def test_a_short_secret_is_refused_without_being_shown(rig: BigIpRig) -> None:
    with pytest.raises(ValueError, match="cookie_password: 7 characters; 32 or more are allowed") as refusal:
        rig.agent(cookie_password="hunter2")
    assert "hunter2" not in str(refusal.value)
