"""Credentials of agents at a daemon whose passwords are checked in no time.

A hash as operators make it takes 40 ms of CPU to make, and as much at the first request to each daemon. Tests of
credentials and of daemons' processes have such hashes."""

from pathlib import Path

from evenkeel.serving.password_hash import PasswordHash, derive_key, format_hash

_CHEAPEST = PasswordHash(salt=b"salt", key=b"", cost_log2=1, block_size=1)


def write_agent(file: Path, name: str, password: str) -> None:
    """Write a file with this agent alone."""
    key = derive_key(password.encode(), _CHEAPEST)
    stored = PasswordHash(salt=_CHEAPEST.salt, key=key, cost_log2=_CHEAPEST.cost_log2, block_size=_CHEAPEST.block_size)
    file.touch(mode=0o600)
    file.write_text(f"{name}:{format_hash(stored)}\n")
