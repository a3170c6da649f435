"""Runs the examples in the documentation of each `bigip_*` module of Ansible's collection `f5networks.f5_modules`, as
they stand, against an emulator, and prints how many succeed and why the others do not.

    packages/icontrol-emulator/scripts/ansible_examples.py [--list CAUSE] [MODULE]...

Installs the clients in the cache that tests use. Each module starts on a device with factory settings, in a folder of
its own, and with what F5's examples take for granted. Takes about ten minutes; not part of CI.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import yaml

PACKAGE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PACKAGE.parents[1]), str(PACKAGE / "tests")]

from emulator_tests.client import Client  # noqa: E402
from icontrol_emulator import Emulator  # noqa: E402
from tests.services.icontrol_clients import clients  # noqa: E402

RUNNER = PACKAGE / "tests" / "emulator_tests" / "clients" / "ansible_modules.py"
MODULE_SECONDS = 120
DEVICE = "bigip-1"
TAKEN_FOR_GRANTED: list[tuple[str, dict[str, Any]]] = [
    ("auth/partition", {"name": "ansible"}), ("auth/partition", {"name": "foobar"}),
    ("auth/partition", {"name": "baz"}),
    ("net/vlan", {"name": "vlan1"}), ("net/self", {"name": "near", "address": "10.2.2.1/24", "vlan": "vlan1"}),
    ("net/route-domain", {"name": "10", "id": 10}),
    ("ltm/pool", {"name": "my-pool"}), ("ltm/pool", {"name": "hsl1-pool"}),
    ("sys/log-config/destination/remote-high-speed-log", {"name": "hsl1", "poolName": "hsl1-pool"}),
    ("sys/log-config/destination/splunk", {"name": "security-log-servers-logging", "forwardTo": "hsl1"}),
]  # fmt: skip
"""Objects that the examples name and do not make."""
SUCCEEDED = "succeeded"
CAUSES = {
    "the module of TMOS is not provisioned": r"provisioned",
    "the module refuses its own example": (
        r"Unsupported parameters|missing required arg|unable to (convert|evaluate)|must be (one of|less|at least)|"
        r"not a valid option|Invalid datetime|is required when|may not be set|specify both of|needs to be specified|"
        r"'standard' type may not|only available to|not an IP address|accept the product EULA"
    ),
    "the module sends None": r"None:\d+|:None",
    "needs a file that the example does not have": r"FileNotFound|No such file|'src' was not found",
    "needs Ansible's connection": r"socket_path must be a value",
    "names an object that it does not make": r"was not found|does not exist|not not exist|not found on the device",
}
"""By what a failed module says, the first that fits; any other failure is of the emulator or not understood."""


class Example(NamedTuple):
    module: str
    title: str
    arguments: dict[str, Any]


def examples(folder: Path, wanted: list[str]) -> dict[str, list[Example]]:
    """By module, in the order of its documentation."""
    found: dict[str, list[Example]] = {}
    for path in sorted(folder.glob("bigip_*.py")):
        if wanted and path.stem not in wanted:
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EXAMPLES":
                text = ast.literal_eval(node.value)
                found.setdefault(path.stem, []).extend(_tasks(path.stem, yaml.safe_load(text)))
    return found


def _tasks(module: str, items: Any) -> list[Example]:
    tasks: list[Example] = []
    for item in items or []:
        for nested in ("tasks", "block"):
            tasks += _tasks(module, item.get(nested))
        for name, arguments in item.items():
            if str(name).rpartition(".")[2] == module and isinstance(arguments, dict):
                own = {key: value for key, value in arguments.items() if key != "provider"}
                tasks.append(Example(module, str(item.get("name", "")), own))
    return tasks


def cause(example: Example, result: dict[str, Any]) -> str:
    message = str(result.get("msg", ""))
    if not result.get("failed"):
        return SUCCEEDED
    if "{{" in json.dumps(example.arguments, default=str):
        return "needs variables of a playbook"
    return next((name for name, pattern in CAUSES.items() if re.search(pattern, message)), "other")


async def run(python: Path, collections: Path, port: int, tasks: list[Example], folder: str) -> list[dict[str, Any]]:
    kept = {name: value for name, value in os.environ.items() if not name.endswith("CA_BUNDLE")}
    process = await asyncio.create_subprocess_exec(
        str(python), str(RUNNER), str(port), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env={**kept, "PYTHONPATH": str(collections)}, cwd=folder,
    )  # fmt: skip
    given = json.dumps([[task.module, task.arguments] for task in tasks], default=str).encode()
    try:
        async with asyncio.timeout(MODULE_SECONDS):
            output, _ = await process.communicate(given)
    except TimeoutError:
        process.kill()
        await process.wait()
        return [{"failed": True, "msg": f"not finished within {MODULE_SECONDS} s"}] * len(tasks)
    results: list[dict[str, Any]] = json.loads(output)
    return results


async def prepare(emulator: Emulator, client: Client) -> None:
    emulator.wipe(DEVICE)
    for path, body in TAKEN_FOR_GRANTED:
        await client.post(path, body)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0] if __doc__ else "")
    parser.add_argument("--list", default="", help="print the examples that fail for this cause")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    python, collections = clients()
    found = examples(collections / "ansible_collections/f5networks/f5_modules/plugins/modules", options.modules)
    counted: Counter[str] = Counter()
    async with Emulator([DEVICE, "bigip-2"], data_plane=False) as emulator:
        url = emulator.devices[DEVICE].url
        client = Client(url, emulator.ca_file)
        for module, tasks in found.items():
            await prepare(emulator, client)
            with tempfile.TemporaryDirectory() as folder:
                results = await run(python, collections, int(url.rpartition(":")[2]), tasks, folder)
            for task, result in zip(tasks, results, strict=True):
                why = cause(task, result)
                counted[why] += 1
                if why == options.list:
                    print(f"{module}: {task.title}: {str(result.get('msg', '')).strip()[-300:]}")
        await client.close()
    for why, count in counted.most_common():
        print(f"{count:5d}  {why}")
    print(f"{counted.total():5d}  examples of {len(found)} modules")


if __name__ == "__main__":
    asyncio.run(main())
