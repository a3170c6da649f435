"""File contents on their way to a device: uploaded, named as ``sourcePath`` in the transaction, and removed again.

The device keeps an upload in a folder that only its administrators can read, outside of any transaction; the commit
copies the content. So the upload is removed after the commit, whatever the outcome. If the device does not respond, the
next pass removes the upload; if the agent dies first, the partition's next owner does so before uploading anything.
"""

import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import structlog

from evenkeel.core.kit.errors import DeviceRejected
from evenkeel.core.tls.certificates import Secret
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.objects import Key
from evenkeel.devices.waiting import gather_all_results

log = structlog.get_logger(__name__)

UPLOAD_FOLDER = "/var/config/rest/downloads"
CONCURRENT_REMOVALS_MAX = 50


@asynccontextmanager
async def uploaded_files(
    device: IControl, partition: str, contents: Mapping[Key, Secret], left: set[str]
) -> AsyncIterator[Mapping[Key, str]]:
    """Upload the files' contents, as a context that gives ``{key: sourcePath}`` and removes the uploads at its end.

    ``left``: names of uploads not yet removed, kept up to date. Raises :class:`DeviceRejected`,
    :class:`DeviceUnavailable`.
    """
    names = {key: f"{upload_prefix(partition)}{secrets.token_hex(8)}" for key in contents}
    # before the first upload, so that a cancelled one is removed later, too
    left.update(names.values())
    try:
        await gather_all_results(*(device.upload(name, contents[key].reveal()) for key, name in names.items()))
        yield {key: f"file:{UPLOAD_FOLDER}/{name}" for key, name in names.items()}
    except DeviceRejected:
        # After any other failure the uploads are left to the next pass, because the device may not answer now.
        await remove_uploads(device, left)
        raise
    await remove_uploads(device, left)


async def remove_uploads(device: IControl, left: set[str]) -> None:
    """Remove uploaded files from the device, and their names from the set; files that the device refuses to
    remove are only logged. Raises :class:`DeviceUnavailable`.
    """
    while left:
        names = sorted(left)[:CONCURRENT_REMOVALS_MAX]
        paths = " ".join(f"{UPLOAD_FOLDER}/{name}" for name in names)
        try:
            await device.write("POST", "/mgmt/tm/util/unix-rm", {"command": "run", "utilCmdArgs": paths})
        except DeviceRejected as error:
            log.warning("uploaded files not removed", device=device.host, files=names, reason=error.reason)
        # Also after a refusal; otherwise the loop would try the same names without end.
        left.difference_update(names)


async def list_earlier_uploads(device: IControl, partition: str) -> set[str]:
    """List the names of uploads for this partition that are on the device, from any agent. Raises
    :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    answer = await device.write("POST", "/mgmt/tm/util/unix-ls", {"command": "run", "utilCmdArgs": UPLOAD_FOLDER})
    names = {line.strip() for line in str(answer.get("commandResult", "")).splitlines()}
    # The names become arguments of a command on the device, so only plain ones are taken.
    return {name for name in names if name.startswith(upload_prefix(partition)) and name.replace("-", "").isalnum()}


def upload_prefix(partition: str) -> str:
    """Return the prefix of the names of a partition's uploads. No other program uses this prefix."""
    return f"evenkeel-{hashlib.sha256(partition.encode()).hexdigest()[:12]}-"
