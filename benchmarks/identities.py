"""Who asks in the benchmark of the API: each kind of identity with the header lines of its callers."""

import base64
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_SECONDS = 60.0
USER = "bench"
PASSWORD = "bench"


@contextmanager
def nobody(folder: Path) -> Iterator[Sequence[str]]:
    """Nobody logs in."""
    yield [""]


@contextmanager
def one_user(folder: Path) -> Iterator[Sequence[str]]:
    """One user with a password."""
    from evenkeel.api.identity.users import checked_user, format_user_line
    from evenkeel.serving.password_file import write_lines
    from evenkeel.serving.password_hash import hash_password

    user = checked_user(USER, "bench", ["member"], hash_password(PASSWORD, os.urandom(16)))
    write_lines(folder / "users", [format_user_line(user)])
    yield ["Authorization: Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode() + "\r\n"]


@contextmanager
def keystone_users(folder: Path) -> Iterator[Sequence[str]]:
    """Members of a project with tokens of a Keystone that runs beside."""
    file = folder / "keystone.json"
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.keystone", str(file)])
    try:
        deadline = time.monotonic() + START_SECONDS
        while not file.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the stand-in for Keystone did not start")
            time.sleep(0.05)
        told = json.loads(file.read_text())
        (folder / "controller.ini").write_text(told["options"])
        yield [f"X-Auth-Token: {token}\r\n" for token in told["tokens"]]
    finally:
        process.kill()
        process.wait()


def opened_password_file(folder: Path) -> Any:
    """The identity of :func:`one_user`."""
    from evenkeel.api.identity.password_file import PasswordFileIdentity
    from evenkeel.api.identity.users import watched_users
    from evenkeel.cmd.process.runtime import SystemClock

    return PasswordFileIdentity(watched_users(folder / "users"), SystemClock())


def opened_keystone(folder: Path) -> Any:
    """The identity of :func:`keystone_users`: the real middleware, configured as operators do."""
    from oslo_config import cfg

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from evenkeel.api.identity.keystone import open_keystone
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(folder / "controller.ini")], project="evenkeel")
    return open_keystone(conf)


CALLERS: dict[str, Callable[[Path], Any]] = {
    "none": nobody,
    "password_file": one_user,
    "keystone": keystone_users,
}
"""By kind: a context with the callers' header lines. It may write into the folder, which the server reads."""

OPENED: dict[str, Callable[[Path], Any]] = {
    "none": lambda folder: None,
    "password_file": opened_password_file,
    "keystone": opened_keystone,
}
"""By kind: what the server checks callers with."""
