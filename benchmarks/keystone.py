"""A stand-in for Keystone's token API, in a process of its own.

    python -m benchmarks.keystone FILE

Writes to ``FILE`` how to reach it, as JSON: ``options``, a controller's section ``[keystone_authtoken]``, and
``tokens`` of members of project ``bench``. Serves until killed.
"""

import asyncio
import json
import sys
from pathlib import Path

from tests.api.identity.keystone_stand_in import StandIn

TOKENS = 16
TOKEN_CACHE_SECONDS = 300  # the middleware's own default


async def serve(file: Path) -> None:
    """Serve until killed; ``file`` appears whole."""
    async with StandIn.serving() as keystone:
        tokens = [keystone.issue(roles=["member", "reader"], project_id="bench") for _ in range(TOKENS)]
        options = keystone.options(token_cache_time=TOKEN_CACHE_SECONDS)
        part = file.with_suffix(".part")
        part.write_text(json.dumps({"options": options, "tokens": tokens}))
        part.rename(file)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
