"""Drives a device with bigrest and with f5-icontrol-rest: `with_bigrest.py PORT`, in the clients' environment."""

import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

from bigrest.bigip import BIGIP  # noqa: E402
from bigrest.common.exceptions import RESTAPIError  # noqa: E402
from icontrol.session import iControlRESTSession  # noqa: E402

POOLS = "/mgmt/tm/ltm/pool"


def objects(device: BIGIP) -> None:
    device.create("/mgmt/tm/sys/folder", {"name": "big", "partition": "/"})
    pool = device.create(POOLS, {"name": "p", "partition": "big", "members": [{"name": "10.1.0.1:80"}]})
    assert pool.properties["fullPath"] == "/big/p"
    loaded = device.load(f"{POOLS}/~big~p")
    loaded.properties["description"] = "changed"
    assert device.save(loaded).properties["description"] == "changed"
    assert device.modify(f"{POOLS}/~big~p", {"slowRampTime": 0}).properties["slowRampTime"] == 0
    assert [each.properties["name"] for each in device.load(f"{POOLS}?$filter=partition+eq+big")] == ["p"]
    assert device.exist(f"{POOLS}/~big~p")
    assert not device.exist(f"{POOLS}/~big~none")
    assert device.example(POOLS).properties["items"]
    stats = device.show(f"{POOLS}/~big~p")
    assert stats.properties["status.availabilityState"]["description"] == "unknown"
    device.delete(f"{POOLS}/~big~p")


def transactions(device: BIGIP) -> None:
    with device as transaction:
        device.create(POOLS, {"name": "one", "partition": "big"})
        device.create(POOLS, {"name": "two", "partition": "big"})
        assert transaction is not None
    assert device.exist(f"{POOLS}/~big~two")
    try:
        with device:
            device.create(POOLS, {"name": "three", "partition": "big"})
            device.create(POOLS, {"name": "one", "partition": "big"})
    except RESTAPIError as error:
        assert "transaction failed" in str(error), error
    else:
        raise AssertionError("a duplicate was committed")
    assert not device.exist(f"{POOLS}/~big~three")


def files_and_tasks(device: BIGIP) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "file.bin"
        source.write_bytes(b"y" * (1024 * 1024 + 1))
        device.upload("/mgmt/shared/file-transfer/uploads", str(source))
        target = Path(folder) / "fetched" / "file.bin"
        target.parent.mkdir()
        device.download("/mgmt/shared/file-transfer/downloads", str(target))
        assert target.read_bytes() == source.read_bytes()
    assert device.command("/mgmt/tm/util/bash", {"command": "run", "utilCmdArgs": "-c 'echo x'"}) == "x\n"
    task = device.task_start("/mgmt/tm/task/sys/config", {"command": "save"})
    device.task_wait(task, interval=1)
    assert device.task_completed(task)
    device.command("/mgmt/tm/sys/ucs", {"command": "save", "name": "own.ucs"})
    device.delete(f"{POOLS}/~big~one")
    device.command("/mgmt/tm/sys/ucs", {"command": "load", "name": "own.ucs"})
    assert device.exist(f"{POOLS}/~big~one")


def bare(port: int) -> None:
    """f5-icontrol-rest: URIs are made from their parts."""
    session = iControlRESTSession("admin", "admin", token=True, verify=False)
    base = f"https://127.0.0.1:{port}/mgmt/tm/ltm/node/"
    made = session.post(base, json={"name": "n", "partition": "big", "address": "10.7.0.1"})
    assert made.status_code == 200
    read = session.get(base, name="n", partition="big", uri_as_parts=True)
    assert read.json()["address"] == "10.7.0.1", read.text
    changed = session.put(base, name="n", partition="big", uri_as_parts=True, json={"description": "x"})
    assert changed.json()["description"] == "x"
    assert session.delete(base, name="n", partition="big", uri_as_parts=True).status_code == 200


def main() -> None:
    port = int(sys.argv[1])
    for token in (False, True):
        device = BIGIP(f"127.0.0.1:{port}", "admin", "admin", request_token=token, session_verify=False)
    objects(device)
    transactions(device)
    files_and_tasks(device)
    bare(port)
    print("ok")


if __name__ == "__main__":
    main()
