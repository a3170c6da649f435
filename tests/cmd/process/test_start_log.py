"""A start says which version runs with which options, and no secret."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from evenkeel import __version__
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import AGENT_OPTION_GROUPS, CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.process.start_log import log_start


def logged(tmp_path: Path, text: str, groups: Any) -> dict[str, Any]:
    file = tmp_path / "some.ini"
    file.write_text(text)
    conf = load_configuration("some", ["--config-file", str(file)], groups=groups)
    with capture_logs() as lines:
        log_start(conf, groups)
    (line,) = lines
    assert (line["event"], line["version"]) == ("starting", __version__)
    options: dict[str, Any] = line["options"]
    return options


def test_options_that_differ_from_their_defaults(tmp_path: Path) -> None:
    text = "[DEFAULT]\nhost = h\ndevice_driver = haproxy\nreport_interval = 20\n[haproxy]\nhaproxyd_password = secret\n"
    options = logged(tmp_path, text, AGENT_OPTION_GROUPS)
    assert options == {
        "host": "h",
        "device_driver": "haproxy",
        "report_interval": 20.0,
        "haproxy.haproxyd_password": "***",
    }


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("amqp://evenkeel:secret@mq1:5672,evenkeel:sec,ret@mq2:5672/v", "amqp://***@mq2:5672/v"),
        ("amqp://u:s/e@cret@mq/v", "amqp://***@mq/v"),
        ("amqp://u:s/e@c?ret@mq/v", "amqp://***"),
        ("amqp://u:se?cret@mq/v", "amqp://***"),
        ("amqp://mq/v?password=sec@ret", "amqp://***"),
        ("amqp://mq/v?password=secret", "amqp://mq/v"),
        ("amqp://mq1:5672,[::1]:5672/v", "amqp://mq1:5672,[::1]:5672/v"),
        ("amqp://evenkeel:secret", "***"),
        ("evenkeel:secret@mq", "***"),
    ],
)
def test_of_urls_only_the_place_is_shown(tmp_path: Path, url: str, shown: str) -> None:
    database = "postgresql://evenkeel:secret@db/evenkeel?sslrootcert=/x"
    options = logged(
        tmp_path, f"[DEFAULT]\ntransport_url = {url}\n[database]\nconnection = {database}\n", CONTROLLER_OPTION_GROUPS
    )
    assert options["transport_url"] == shown
    assert options["database.connection"] == "postgresql://***@db/evenkeel"


def test_a_password_in_a_database_url_may_have_a_question_mark(tmp_path: Path) -> None:
    options = logged(tmp_path, "[database]\nconnection = postgresql://ek:se?cret@db/x\n", CONTROLLER_OPTION_GROUPS)
    assert options["database.connection"] == "postgresql://***"


def test_a_secret_that_looks_like_a_url_is_hidden(tmp_path: Path) -> None:
    text = "[DEFAULT]\nhost = h\ndevice_driver = haproxy\n[haproxy]\nhaproxyd_password = abc://secret\n"
    assert logged(tmp_path, text, AGENT_OPTION_GROUPS)["haproxy.haproxyd_password"] == "***"
