"""Certificates, profiles and iRules on a device: made, renewed, shared, repaired, removed, and no key anywhere else."""

import itertools
import json
from typing import Any

import pytest

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable, StaleOwner
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.devices.bigip.icontrol.uploads import upload_prefix
from evenkeel.devices.https import HttpsTransport
from icontrol_emulator import Fault
from tests.certificates import referring
from tests.devices.bigip.certificates import (
    authority,
    bringing,
    certificate,
    revocation_list,
    tls_listener,
    tls_service,
)
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, at
from tests.devices.services import batch, gone, listener, pool, service

A, B, C = (certificate(f"{letter}.example") for letter in "abc")
CA, CRL = authority(), revocation_list()
FILES = ("sys/file/ssl-cert", "sys/file/ssl-key", "sys/file/ssl-crl")
COMMIT = {"method": "PATCH", "path": "/mgmt/tm/transaction/*"}
UPLOADS = {"command": "run", "utilCmdArgs": "/var/config/rest/downloads"}


def errors(outcome: PartitionOutcome) -> dict[str, str]:
    return {one.load_balancer_id: one.error for one in outcome.outcomes if one.error}


async def files(hands: Hands) -> set[str]:
    return {name for kind in FILES for name in await hands.items(kind)}


def whole(content: CertificateContent) -> set[str]:
    return {f"dev_{content.sha256}{suffix}" for suffix in (".crt", ".key", "-chain.crt")}


async def uploads(hands: Hands) -> list[str]:
    found = await hands.call("POST", "util/unix-ls", UPLOADS)
    return str(found.get("commandResult", "")).split()


def everything(**changes: Any) -> ServiceDefinition:
    """A load balancer with all that there is about TLS."""
    definition = tls_service(
        names={},
        listeners=(
            tls_listener(
                sni_container_refs=("ref-b",),
                client_authentication="OPTIONAL",
                client_ca_tls_container_ref="ref-ca",
                client_crl_container_ref="ref-crl",
                insert_headers={"X-SSL-Client-DN": "true", "X-Forwarded-Proto": "true", "X-Forwarded-For": "true"},
                hsts_max_age=300,
            ),
            listener(2, id="listener-2", default_pool_id="pool-1"),
        ),
        pools=(
            pool(
                tls_enabled=True,
                tls_container_ref="ref-a",
                ca_tls_container_ref="ref-ca",
                tls_versions=("TLSv1.2",),
                tls_ciphers="ECDHE-ECDSA-AES128-GCM-SHA256",
            ),
        ),
        **changes,
    )
    return referring(definition, {"ref-a": A, "ref-b": B, "ref-ca": CA, "ref-crl": CRL})


async def test_everything_about_tls_is_made_in_one_transaction_and_a_second_pass_writes_nothing(rig: BigIpRig) -> None:
    agent = rig.owner()
    made = await agent.apply(bringing(A, B, CA, CRL, services=(everything(),), complete=True))
    assert not errors(made) and not made.lacking and made.writes == 1
    content = await rig.content()
    for complete in (False, True):
        again = await agent.apply(batch(everything(), complete=complete))
        assert again.writes == 0 and not errors(again) and not again.lacking
    assert (await rig.owner().apply(batch(everything(), epoch=2, complete=True))).writes == 0
    assert await rig.content() == content
    assert await files(rig.hands) == {*whole(A), *whole(B), f"dev_{CA.sha256}-ca.crt", f"dev_{CRL.sha256}.crl"}
    gone_again = await agent.apply(batch(gone(), epoch=3, complete=True))
    assert not errors(gone_again)
    assert await rig.content() == {}


async def test_missing_certificate_is_requested_while_other_load_balancers_go_on(rig: BigIpRig) -> None:
    agent = rig.owner()
    outcome = await agent.apply(batch(tls_service(names={"ref-a": A}), service(2), complete=True))
    assert outcome.lacking == (A.sha256,) and set(errors(outcome)) == {"lb-1"}
    assert "waiting for contents" in errors(outcome)["lb-1"]
    assert set(await rig.hands.items("ltm/virtual")) == {"dev_listener-2"}
    brought = await agent.apply(bringing(A, services=(tls_service(names={"ref-a": A}),)))
    assert not brought.lacking and not errors(brought)
    assert set(await rig.hands.items("ltm/virtual")) == {"dev_listener-1", "dev_listener-2"}


async def test_a_renewal_is_one_transaction_of_profile_and_files(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(bringing(A, services=(tls_service(names={"ref-a": A}),), complete=True))
    virtual = await rig.hands.items("ltm/virtual")
    renewed = tls_service(names={"ref-a": B}, revision=2)
    assert (await agent.apply(batch(renewed))).lacking == (B.sha256,)
    assert await files(rig.hands) == whole(A)
    rig.counts()
    commits, before = len(rig.commits()), rig.emulator.write_log.entries()[-1]["seq"]
    outcome = await agent.apply(bringing(B, services=(renewed,)))
    assert not errors(outcome) and outcome.writes == 1 and not outcome.repaired
    assert len(rig.commits()) == commits + 1
    paths = [entry["path"] for entry in rig.emulator.write_log.entries(after=before)]
    assert any("client-ssl" in path for path in paths) and not any("/ltm/virtual" in path for path in paths)
    # 3 uploads, remove them; guard, 3 files made and 3 removed, a profile, open and commit
    assert rig.counts() == {"reads": 0, "writes": 14}
    assert await files(rig.hands) == whole(B)
    assert await rig.hands.items("ltm/virtual") == virtual
    (profile,) = (await rig.hands.items("ltm/profile/client-ssl")).values()
    assert profile["certKeyChain"][0]["cert"] == f"/{PARTITION}/dev_{B.sha256}.crt"


async def test_certificates_come_and_go_while_one_stays_the_default(rig: BigIpRig) -> None:
    agent = rig.owner()
    for revision, more in enumerate(((), ("ref-b",), ("ref-b", "ref-c"), ("ref-c",), ()), start=1):
        definition = tls_service(
            names={"ref-a": A, "ref-b": B, "ref-c": C},
            listeners=(tls_listener(sni_container_refs=more),),
            revision=revision,
        )
        outcome = await agent.apply(bringing(A, B, C, services=(definition,)))
        assert not errors(outcome)
        profiles = (await rig.hands.items("ltm/profile/client-ssl")).values()
        assert sorted(one["sniDefault"] for one in profiles) == [*["false"] * len(more), "true"]
        named = {one["certKeyChain"][0]["cert"] for one in profiles}
        held = {name for name in await files(rig.hands) if name.endswith(".crt") and "chain" not in name}
        assert named == {f"/{PARTITION}/{name}" for name in held}


async def test_files_are_shared_in_a_partition_and_strangers_stay(rig: BigIpRig) -> None:
    agent = rig.owner()
    both = tuple(tls_service(number, names={"ref-a": A}) for number in (1, 2))
    await agent.apply(bringing(A, services=both, complete=True))
    by_hand = {
        "name": "by-hand",
        "partition": PARTITION,
        "certKeyChain": [
            {"name": "x", "cert": f"/{PARTITION}/dev_{A.sha256}.crt", "key": f"/{PARTITION}/dev_{A.sha256}.key"}
        ],
    }
    assert await files(rig.hands) == whole(A)
    await agent.apply(batch(gone(1)))
    assert await files(rig.hands) == whole(A)
    await rig.hands.call("POST", "ltm/profile/client-ssl", by_hand)
    await agent.apply(batch(gone(2), complete=True))
    assert await files(rig.hands) == whole(A) - {f"dev_{A.sha256}-chain.crt"}
    await rig.hands.call("DELETE", f"ltm/profile/client-ssl/~{PARTITION}~by-hand")
    await agent.apply(batch(complete=True))
    assert await files(rig.hands) == set()


async def test_profiles_rules_and_ciphers_changed_by_hand_are_put_right(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(bringing(A, B, CA, CRL, services=(everything(),), complete=True))
    content = await rig.content()
    (name, _) = sorted(await rig.hands.items("ltm/profile/client-ssl"))
    for path, changes in {
        f"ltm/profile/client-ssl/~{PARTITION}~{name}": {"peerCertMode": "ignore", "tmOptions": ["no-tlsv1.2"]},
        at("ltm/profile/server-ssl", "serverssl_pool-1"): {"peerCertMode": "ignore", "caFile": "none"},
        at("ltm/rule", "rule_listener-1"): {"apiAnonymous": "when HTTP_REQUEST { HTTP::respond 200 }"},
        at("ltm/cipher/rule", "ciphers_pool-1"): {"cipher": "DEFAULT"},
        at("ltm/virtual", "listener-1"): {"rules": []},
        at("ltm/profile/http", "http_listener-1"): {"hsts": {"mode": "disabled"}},
    }.items():
        await rig.hands.call("PATCH", path, changes)
        assert await rig.content() != content
        outcome = await agent.apply(batch(everything(), complete=True))
        assert outcome.writes == 1 and not errors(outcome)
        assert await rig.content() == content
        assert outcome.repaired[0].found


async def test_keys_are_nowhere_but_in_what_was_uploaded(rig: BigIpRig, capfd: pytest.CaptureFixture[str]) -> None:
    agent = rig.owner()
    outcome = await agent.apply(bringing(A, B, CA, CRL, services=(everything(),), complete=True))
    wrong = referring(tls_service(2, names={}), {"ref-a": C})
    half = CertificateContent(kind=C.kind, sha256=C.sha256, certificates=C.certificates, private_key=A.private_key)
    refused = await agent.apply(bringing(half, services=(wrong,)))
    assert "do not match" in errors(refused)["lb-2"]
    assert A.private_key is not None
    line = A.private_key.reveal().decode().splitlines()[1]
    written = json.dumps(rig.emulator.write_log.entries(after=0), default=str)
    assert "ltm/profile/client-ssl" in written
    for text in (written, repr(outcome), repr(refused), repr(capfd.readouterr()), repr(await rig.content())):
        assert line not in text and "PRIVATE KEY" not in text
    assert await uploads(rig.hands) == []
    assert await files(rig.hands) >= whole(A) and not await files(rig.hands) & whole(C)


@pytest.mark.parametrize("status", [400, 413, 500])
async def test_an_answer_that_repeats_what_was_uploaded_is_not_reported(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], status: int
) -> None:
    exchange = HttpsTransport.exchange

    async def repeating(
        self: HttpsTransport, method: str, target: str, body: bytes | None = None, **named: Any
    ) -> tuple[int, bytes]:
        if "/uploads/" not in target or body is None:
            return await exchange(self, method, target, body, **named)
        return status, json.dumps({"code": status, "message": f"invalid: {body.decode()[:120]}"}).encode()

    monkeypatch.setattr(HttpsTransport, "exchange", repeating)
    wanted = referring(tls_service(names={}), {"ref-a": A})
    try:
        told = repr(await rig.owner().apply(bringing(A, services=(wanted,), complete=True)))
    except (DeviceRejected, DeviceUnavailable) as error:
        told = str(error)
    assert "it repeats a secret that was sent" in told
    assert "-----BEGIN" not in told + repr(capfd.readouterr())


async def test_uploads_of_a_dead_agent_are_removed_before_the_next_owner_uploads(rig: BigIpRig) -> None:
    await rig.owner().apply(bringing(A, services=(tls_service(names={"ref-a": A}),), complete=True))
    kept = rig.emulator.devices["bigip-1"].uploads.files
    for name in (f"{upload_prefix(PARTITION)}dead", "evenkeel-000000000000-other", "somebody.iso"):
        kept[name] = b"x"
    await rig.owner().apply(bringing(B, services=(tls_service(names={"ref-a": B}, revision=2),), epoch=2))
    assert await uploads(rig.hands) == ["evenkeel-000000000000-other", "somebody.iso"]


async def test_one_device_of_a_pair_lacks_what_the_other_holds(pair: BigIpRig) -> None:
    agent = pair.owner()
    definition = tls_service(names={"ref-a": A})
    await agent.apply(bringing(A, services=(definition,), complete=True))
    second = Hands(pair.emulator, "bigip-2")
    await second.call("DELETE", at("ltm/virtual", "listener-1"))
    for kind in ("ltm/profile/client-ssl", *FILES):
        for name in await second.items(kind):
            await second.call("DELETE", f"{kind}/~{PARTITION}~{name}")
    outcome = await agent.apply(batch(definition, complete=True))
    assert outcome.lacking == (A.sha256,) and outcome.writes == 0
    assert set(await pair.hands.items("ltm/virtual")) == {"dev_listener-1"}
    outcome = await agent.apply(bringing(A, services=(definition,)))
    assert not outcome.lacking and not errors(outcome) and outcome.writes == 1
    assert await files(second) == whole(A) == await files(pair.hands)


CHANGES: list[dict[str, Any]] = [
    {"listeners": (tls_listener(tls_ciphers=None),)},
    {"listeners": (tls_listener(tls_ciphers="TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"),)},
    {"pools": (pool(tls_enabled=True),)},
    {"pools": (pool(tls_enabled=True, tls_container_ref="ref-b", tls_ciphers="ECDHE-RSA-AES128-GCM-SHA256"),)},
    {"listeners": (listener(protocol="TCP"),), "pools": (pool(tls_enabled=True),)},
    {"listeners": (listener(protocol="HTTP"),)},
    {"listeners": (tls_listener(alpn_protocols=("http/1.1",), hsts_max_age=1, default_tls_container_ref="ref-b"),)},
    {"listeners": (tls_listener(insert_headers={"X-Forwarded-Proto": "true"}, timeout_client_data=1_000),)},
    {"listeners": (tls_listener(client_authentication="MANDATORY", client_ca_tls_container_ref="ref-ca"),)},
    {"listeners": (tls_listener(admin_state_up=False, default_pool_id=None),), "pools": ()},
]


async def test_every_change_into_every_other_is_taken_by_the_device(rig: BigIpRig) -> None:
    agent = rig.owner()
    names = {"ref-a": A, "ref-b": B, "ref-ca": CA}
    orders = (CHANGES, CHANGES[::-1], CHANGES[::2] + CHANGES[1::2])
    for revision, changes in enumerate(itertools.chain(*orders), start=1):
        wanted = tls_service(names=names, revision=revision, **changes)
        outcome = await agent.apply(bringing(A, B, CA, services=(wanted,)))
        assert not errors(outcome), changes
        assert (await agent.apply(batch(wanted, complete=True))).writes == 0
    assert await uploads(rig.hands) == []


async def test_another_parent_is_taken_at_once(rig: BigIpRig) -> None:
    definition = tls_service(names={"ref-a": A})
    await rig.owner().apply(bringing(A, services=(definition,), complete=True))
    agent = rig.owner(f5_parent_ssl_profile="/Common/clientssl-secure")
    outcome = await agent.apply(batch(definition, epoch=2, complete=True))
    assert not errors(outcome) and outcome.writes == 1
    (profile,) = (await rig.hands.items("ltm/profile/client-ssl")).values()
    assert profile["defaultsFrom"] == "/Common/clientssl-secure"
    with pytest.raises(ValueError, match="f5_parent_ssl_profile"):
        rig.agent(f5_parent_ssl_profile="clientssl; reboot")


# -- trouble


@pytest.mark.parametrize("kind", ["mcpd_lost", "drop_before", "drop_after"])
async def test_a_lost_answer_to_a_renewals_commit_leaves_one_certificate_whole(rig: BigIpRig, kind: str) -> None:
    agent = rig.owner(retry_time="0.2")
    await agent.apply(bringing(A, services=(tls_service(names={"ref-a": A}),), complete=True))
    rig.emulator.faults.add(Fault(kind=kind, count=1, **COMMIT))
    outcome = await agent.apply(bringing(B, services=(tls_service(names={"ref-a": B}, revision=2),)))
    assert not errors(outcome) and not outcome.lacking
    assert await files(rig.hands) == whole(B)
    assert await uploads(rig.hands) == []
    assert (await agent.apply(batch(tls_service(names={"ref-a": B}, revision=2), complete=True))).writes == 0


@pytest.mark.parametrize("path", ["/mgmt/shared/file-transfer/uploads/*", "/mgmt/tm/util/unix-rm"])
async def test_an_upload_that_fails_is_made_up_for_by_the_next_pass(rig: BigIpRig, path: str) -> None:
    agent = rig.owner(retry_time="0.2")
    await agent.apply(bringing(A, services=(tls_service(names={"ref-a": A}),), complete=True))
    renewed = tls_service(names={"ref-a": B}, revision=2)
    fault = rig.emulator.faults.add(Fault(kind="drop_before", count=None, method="POST", path=path))
    with pytest.raises(DeviceUnavailable):
        await agent.apply(bringing(B, services=(renewed,)))
    rig.emulator.faults.remove(fault)
    outcome = await agent.apply(bringing(B, services=(renewed,)))
    assert not errors(outcome) and await files(rig.hands) == whole(B)
    assert await uploads(rig.hands) == []


async def test_an_owner_that_was_taken_over_from_changes_nothing_and_leaves_no_key(rig: BigIpRig) -> None:
    frozen = rig.owner()
    await frozen.apply(bringing(A, services=(tls_service(names={"ref-a": A}),), complete=True))
    newer = rig.owner()
    await newer.apply(bringing(B, services=(tls_service(names={"ref-a": B}, revision=2),), epoch=2, complete=True))
    content = await rig.content()
    with pytest.raises(StaleOwner):
        await frozen.apply(bringing(C, services=(tls_service(names={"ref-a": C}, revision=3),)))
    assert await rig.content() == content
    assert await uploads(rig.hands) == []


async def test_more_certificates_than_one_transaction_takes(rig: BigIpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenkeel.devices.bigip.reconcile.partition_pass.OPERATIONS_PER_TRANSACTION_MAX", 20)
    agent = rig.owner()
    many = {f"ref-{number}": certificate(f"{number}.example") for number in range(12)}
    wanted = tls_service(names={"ref-a": A, **many}, listeners=(tls_listener(sni_container_refs=tuple(many)),))
    outcome = await agent.apply(bringing(A, *many.values(), services=(wanted,), complete=True))
    assert not errors(outcome) and outcome.writes > 1
    assert len(await rig.hands.items("ltm/profile/client-ssl")) == 13
    assert (await agent.apply(batch(wanted, complete=True))).writes == 0
