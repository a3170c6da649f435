"""``[metrics]``: served only when asked for, over TLS if a certificate is named."""

import socket
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS
from evenkeel.cmd.process.metrics_endpoint import MetricsEndpoint
from evenkeel.haproxyd.api.tls import make_certificates
from tests.services.process import free_port


def endpoint(folder: Path, **options: object) -> MetricsEndpoint:
    file = folder / "agent.ini"
    file.write_text("\n".join(["[metrics]", *(f"{name} = {value}" for name, value in options.items())]))
    return MetricsEndpoint(load_configuration("test", ["--config-file", str(file)], groups=AGENT_OPTION_GROUPS))


async def connects(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(10)
        return client.connect_ex(("127.0.0.1", port)) == 0


async def test_without_a_port_nothing_listens(tmp_path: Path) -> None:
    made = endpoint(tmp_path)
    await made.start()
    assert made._listening is None
    await made.stop()


async def test_a_port_is_served_until_the_end(tmp_path: Path) -> None:
    port = free_port()
    made = endpoint(tmp_path, bind_port=port)
    await made.start()
    assert await connects(port)
    await made.stop()
    assert not await connects(port)


def test_an_address_that_is_taken_is_reported_with_its_option(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(ValueError, match=r"metrics\.bind_host, metrics\.bind_port: .*in use"):
            endpoint(tmp_path, bind_port=other.getsockname()[1])


async def test_an_address_that_others_reach_is_warned_of_without_tls(tmp_path: Path) -> None:
    files = make_certificates(tmp_path / "tls", ["127.0.0.1"])
    tls = {"ssl_cert_file": files.certificate, "ssl_key_file": files.key}
    with capture_logs() as logs:
        await endpoint(tmp_path, bind_port=free_port(), bind_host="0.0.0.0", **tls).stop()
        assert not logs
        await endpoint(tmp_path, bind_port=free_port(), bind_host="0.0.0.0").stop()
    assert [entry["event"] for entry in logs] == ["metrics are served without TLS"]


def test_a_key_without_its_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"metrics\.ssl_cert_file: it is needed with"):
        endpoint(tmp_path, ssl_key_file="/etc/key.pem")


async def test_https_is_turned_on_by_a_restart_only(tmp_path: Path) -> None:
    files = make_certificates(tmp_path / "tls", ["127.0.0.1"])
    made = endpoint(tmp_path)
    changed = tmp_path / "changed.ini"
    changed.write_text(f"[metrics]\nssl_cert_file = {files.certificate}\nssl_key_file = {files.key}\n")
    with pytest.raises(ValueError, match="restart"):
        made.reload(load_configuration("test", ["--config-file", str(changed)], groups=AGENT_OPTION_GROUPS))
