"""Finds the load balancers that HAProxy refuses, by running ``haproxy -c`` on ever smaller subsets."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.alerts import extract_alerts
from evenkeel.haproxyd.haproxy.binary import HaproxyBinary


async def bisect_refused(suspects: Sequence[str], check: Callable[[Sequence[str]], Awaitable[str]]) -> dict[str, str]:
    """Return ``{refused load balancer: HAProxy's reason}`` of the suspects. ``check`` returns why HAProxy
    refuses a subset, or an empty text; if it accepts both halves of a refused set, all of the set count as
    refused.

    Costs one check if none is refused, and about two times log2 of the number of load balancers for each
    refused one.
    """
    message = await check(suspects) if suspects else ""
    if not message:
        return {}
    if len(suspects) == 1:
        return {suspects[0]: message}
    middle = (len(suspects) + 1) // 2
    found = {**await bisect_refused(suspects[:middle], check), **await bisect_refused(suspects[middle:], check)}
    return found or dict.fromkeys(suspects, message)  # each half is valid on its own


async def check_config(binary: HaproxyBinary, config_dir: Path, files_dir: Path, timeout_seconds: float) -> str:
    """Return HAProxy's reason to refuse the configuration in ``config_dir``; empty if HAProxy accepts it.

    ``files_dir``: the directory of the files that the configuration refers to. Raises :class:`HaproxyDown` if
    the check does not end in time, :class:`OSError` if it cannot be started.
    """
    # The environment is empty, because a configuration can expand variables.
    process = await asyncio.create_subprocess_exec(
        binary.path, "-c", "-f", config_dir,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        cwd=files_dir, env={},
    )  # fmt: skip
    try:
        async with asyncio.timeout(timeout_seconds):
            _, output = await process.communicate()
    except TimeoutError as error:
        raise HaproxyDown(f"haproxy -c did not end in {timeout_seconds:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 0:
        return ""
    return extract_alerts(output.decode(errors="replace")) or f"haproxy -c ended with {process.returncode}"
