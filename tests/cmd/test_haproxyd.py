"""The commands around the daemon: certificates, credentials, options."""

import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from evenkeel.cmd import haproxyd
from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.options.haproxyd_options import HAPROXYD_OPTIONS, daemon_settings, http_settings
from evenkeel.haproxyd.api.credentials import read_hashes
from evenkeel.haproxyd.api.tls import make_certificates, server_context


def run(*arguments: object, typed: str = "") -> tuple[int, str]:
    """Exit code and what was said."""
    done = subprocess.run(
        [sys.executable, "-m", "evenkeel.cmd.haproxyd", *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        input=typed,
    )
    return done.returncode, done.stdout + done.stderr


def config(folder: Path, **values: object) -> Path:
    file = folder / "haproxyd.ini"
    file.write_text("\n".join(["[haproxyd]", *(f"{key} = {value}" for key, value in values.items()), ""]))
    return file


def test_init_makes_certificates_and_states_what_to_copy_where(tmp_path: Path) -> None:
    code, said = run("--init", tmp_path / "tls", "--host", "lb1.example.net", "--host", "192.0.2.1")
    assert code == 0
    for name in ("ca.pem", "server.pem", "server.key", "ca_file", "--add-agent"):
        assert name in said
    context = server_context(tmp_path / "tls" / "server.pem", tmp_path / "tls" / "server.key")
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    made = x509.load_pem_x509_certificate((tmp_path / "tls" / "server.pem").read_bytes())
    assert "O=Even Keel" in made.subject.rfc4514_string() and "esting" not in made.subject.rfc4514_string()
    assert timedelta(729) < made.not_valid_after_utc - datetime.now(UTC) <= timedelta(730)
    assert (tmp_path / "tls" / "server.key").stat().st_mode & 0o077 == 0
    assert (tmp_path / "tls" / "ca.key").stat().st_mode & 0o077 == 0
    code, said = run("--init", tmp_path / "tls")
    assert code == 2
    assert "nothing was made" in said


def test_a_second_hosts_certificate_has_the_same_authority(tmp_path: Path) -> None:
    first = make_certificates(tmp_path / "one", ["one.example.net"])
    other = tmp_path / "two"
    other.mkdir()
    for name in ("ca.pem", "ca.key"):
        (other / name).write_bytes((first.folder / name).read_bytes())
    second = make_certificates(other, ["two.example.net"])
    assert second.authority.read_bytes() == first.authority.read_bytes()
    assert ssl.create_default_context(cafile=second.authority).cert_store_stats()["x509_ca"] == 1


def test_add_agent_takes_the_password_from_a_pipe_and_keeps_its_hash_only(tmp_path: Path) -> None:
    file = config(tmp_path, credentials_file=tmp_path / "credentials")
    code, said = run("--config-file", file, "--add-agent", "agent-1", typed="a long enough password\n")
    assert code == 0
    assert list(read_hashes(tmp_path / "credentials")) == ["agent-1"]
    assert "long enough" not in said + (tmp_path / "credentials").read_text()


@pytest.mark.parametrize(("name", "typed"), [("agent-1", "short\n"), ("a:b", "a long enough password\n")])
def test_add_agent_refuses_in_one_line(tmp_path: Path, name: str, typed: str) -> None:
    file = config(tmp_path, credentials_file=tmp_path / "credentials")
    code, said = run("--config-file", file, "--add-agent", name, typed=typed)
    assert code == 2
    assert "refused: " in said and "Traceback" not in said
    assert typed.strip() not in said
    assert not (tmp_path / "credentials").exists()


def test_add_agent_adds_to_nothing_but_a_password_file(tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text("[haproxyd]\nname = h\n")
    file.chmod(0o600)
    code, said = run(
        "--config-file", config(tmp_path, credentials_file=file), "--add-agent", "a", typed="a long enough password\n"
    )
    assert code == 2
    assert f"{file}: line 1: " in said and "Traceback" not in said
    assert file.read_text() == "[haproxyd]\nname = h\n"


def test_a_password_of_an_agent_that_is_typed_is_typed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["a long enough password", "another long password", *["a long enough password"] * 2])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(typed))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(ValueError, match="--add-agent agent-1: The passwords differ"):
        haproxyd.add_agent_password(tmp_path / "credentials", "agent-1")
    assert haproxyd.add_agent_password(tmp_path / "credentials", "agent-1") == 0
    assert list(read_hashes(tmp_path / "credentials")) == ["agent-1"]


def test_a_missing_certificate_or_credential_is_exit_code_2_by_name(tmp_path: Path) -> None:
    values = {
        "state_dir": tmp_path / "state",
        "run_dir": tmp_path / "run",
        "credentials_file": tmp_path / "credentials",
        "tls_certificate": tmp_path / "cert",
    }
    code, said = run("--config-file", config(tmp_path, **values))
    assert code == 2
    assert "credentials_file: " in said and "Traceback" not in said
    run("--config-file", config(tmp_path, **values), "--add-agent", "a", typed="a long enough password\n")
    code, said = run("--config-file", config(tmp_path, **values))
    assert code == 2
    assert "tls_certificate" in said and "Traceback" not in said
    code, said = run("--config-file", tmp_path / "none.ini")
    assert code == 2
    assert "no such file" in said


def test_options_reach_the_settings(tmp_path: Path) -> None:
    file = config(
        tmp_path,
        name="h",
        haproxy="/opt/haproxy",
        peers_address="192.0.2.1",
        peers_port_first=11000,
        bind_port=0,
        hard_stop_after=60,
    )
    conf = load_configuration("x", ["--config-file", str(file)], groups={"haproxyd": HAPROXYD_OPTIONS})
    settings, http = daemon_settings(conf), http_settings(conf)
    assert (settings.name, settings.haproxy, settings.hard_stop_after_seconds) == ("h", Path("/opt/haproxy"), 60)
    assert (settings.peers_address, settings.peers_port_first) == ("192.0.2.1", 11000)
    assert (http.port, http.endpoint_file) == (0, None)
