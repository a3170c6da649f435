"""Certificates that a controller shows itself: told before they expire, and replaced without a restart."""

import asyncio
import datetime
from pathlib import Path

import httpx
import pytest
import trustme
from oslo_config import cfg

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.controllers.own_certificates import tls_servers
from evenkeel.serving.certificate_ends import POSTGRESQL_TLS, server_certificate_expiry
from tests.api.stack import Stack
from tests.services.process import free_port
from tests.waiting import eventually

LIMIT_SECONDS = 120.0


def issue(folder: Path, days: float) -> float:
    """Write a certificate that expires in so many days, and its key; returns until when it is valid."""
    end = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(days=days)
    leaf = trustme.CA().issue_cert("127.0.0.1", not_after=end)
    leaf.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    leaf.private_key_pem.write_to_path(folder / "key.pem")
    return end.timestamp()


def test_expiring_certificate_is_a_problem_and_an_event_until_a_new_file_is_taken(tmp_path: Path) -> None:
    issue(tmp_path, 3)
    port = free_port()
    files = {"ssl_cert_file": tmp_path / "cert.pem", "ssl_key_file": tmp_path / "key.pem"}
    with Stack.started(tmp_path / "stack", options={"metrics": {"bind_port": port, **files}}) as stack:
        asyncio.run(_is_told_and_renewed(stack.url, port, tmp_path))


async def _is_told_and_renewed(url: str, port: int, folder: Path) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60.0) as client:

        async def texts() -> list[str]:
            status = (await client.get("/evenkeel/v1/status")).json()["status"]
            return [one["text"] for one in status["problems"] if one["kind"] == "own_certificates"]

        (text,) = await eventually(texts, within_seconds=LIMIT_SECONDS, every_seconds=0.2)
        assert "metrics.ssl_cert_file expires within 7 d" in text
        assert (await client.get("/healthz/ready")).status_code == 503
        events = (await client.get("/evenkeel/v1/events")).json()["events"]
        assert text in [event["text"] for event in events if event["kind"] == "own_certificate_expiring"]
        until = issue(folder, 300)

        async def is_renewed() -> bool:
            return await server_certificate_expiry("127.0.0.1", port) == until and not await texts()

        await eventually(is_renewed, within_seconds=LIMIT_SECONDS, every_seconds=0.5)


def conf_of(folder: Path, text: str) -> cfg.ConfigOpts:
    file = folder / "controller.ini"
    file.write_text(text)
    return load_configuration("controller", ["--config-file", str(file)], groups=CONTROLLER_OPTION_GROUPS)


@pytest.mark.parametrize(
    ("text", "peers"),
    [
        ("", []),
        ("[DEFAULT]\ntransport_url = amqp://u:p@mq/", []),
        (
            "[DEFAULT]\ntransport_url = amqps://u:p@mq-1,mq-2:99/v",
            [("message broker mq-1:5671", "mq-1", 5671, b""), ("message broker mq-2:99", "mq-2", 99, b"")],
        ),
        (
            "[database]\nconnection = postgresql://u:p@db/evenkeel",
            [("database db:5432", "db", 5432, POSTGRESQL_TLS)],
        ),
        ("[vault]\nvault_url = https://vault:8200", [("Vault vault:8200", "vault", 8200, b"")]),
    ],
)
def test_peers_are_the_servers_that_options_name_with_tls(
    tmp_path: Path, text: str, peers: list[tuple[str, str, int, bytes]]
) -> None:
    assert [tuple(peer) for peer in tls_servers(conf_of(tmp_path, text))] == peers
