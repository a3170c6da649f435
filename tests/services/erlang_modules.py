"""The modules that a node of RabbitMQ has loaded when it serves, kept in the user's cache directory: a later node loads
them at once before it boots. Loaded one by one, as they are needed, they take twice the CPU time and seconds more: for
each, Erlang stops its schedulers and copies its table of exported functions.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.services.installation import cache_directory, locked

INSTALLED = Path("/usr/lib/rabbitmq/lib")
LOADED = "[Module || {Module, File} <- code:all_loaded(), is_list(File)]"
"""Erlang for the modules that came from files."""
_NAME = "modules"


def boot_module(home: Path) -> str:
    """``RABBITMQ_BOOT_MODULE`` of a node with this directory, which stands between ``-s`` and ``boot`` among Erlang's
    arguments. Words are all it may have: neither quotes nor spaces within one."""
    modules = home / _NAME
    with suppress(OSError):  # there is none yet
        shutil.copyfile(_kept(), modules)
    if not modules.exists():
        return "rabbit"
    return f'erlang self -eval code:ensure_modules_loaded(hd(element(2,file:consult("{modules}")))) -s rabbit'


def keep_modules(evaluate: Callable[[str], str]) -> None:
    """Keep what a node that serves has loaded, unless that is known. ``evaluate``: the node's."""
    kept = _kept()
    with suppress(OSError):  # the cache directory cannot be written: every node loads them one by one
        kept.parent.mkdir(parents=True, exist_ok=True)
        with locked(kept.with_name(f"{kept.name}.lock")):
            if not kept.exists():
                unfinished = kept.with_name(f"{kept.name}.new")
                unfinished.write_text(f"{evaluate(LOADED)}.\n")
                unfinished.rename(kept)


def _kept() -> Path:
    # one that another version lacks is no error for Erlang, and it loads what the list lacks as usual
    versions = "-".join(sorted(path.name for path in INSTALLED.glob("rabbitmq_server-*")))
    return cache_directory() / f"modules-{versions}"
