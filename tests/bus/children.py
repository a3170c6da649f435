"""Other processes on a bus."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def child(module: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """``python -m module``, which has said that it is ready. Killed in the end, whatever state it is in."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # to the end of its pipe, which otherwise may be closed after the test
