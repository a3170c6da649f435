"""The stock command line as people start it: a process of its own."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

COMMAND_SECONDS = 280.0


class Done(NamedTuple):
    """What the command left behind."""

    code: int
    shown: Any
    """Its JSON output, None if there is none."""
    errors: str


async def openstack_process(home: Path, login: Mapping[str, str], *words: str) -> Done:
    """Run ``openstack loadbalancer …``. ``login``: the variables that say who and where."""
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("openstack"),
        "loadbalancer",
        *words,
        env={"PATH": os.environ["PATH"], "HOME": str(home), **login},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            output, errors = await process.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()  # else its pipes are left open for another test to find
        await process.communicate()
        raise
    assert process.returncode is not None
    return Done(process.returncode, json.loads(output) if output.strip() else None, errors.decode())
