"""Runs with a listener attribute that the code does not have: ``x_limit: int = 5``.

    python -m tests.one_more_attribute DIRECTORY

Only the class and the create request are edited, in memory, as "Add an attribute" in docs/how-to/develop.md says; the
column is added as a migration would. Prints as JSON what became of it in every place.
"""

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import structlog

EDITS = {
    "evenkeel.core.resources.model": (
        '    connection_limit: int = -1\n    """Limit of open connections; -1: no limit."""\n',
        "    x_limit: int = 5\n",
    ),
    "evenkeel.api.usecases.requests": (
        "    connection_limit: ConnectionLimit | None = None\n",
        "    x_limit: Annotated[int, Meta(ge=0, le=9)] | None = None\n",
    ),
}
"""Module -> a line of its source, and what is written below it."""


def edit(name: str, after: str, more: str) -> None:
    """Import a module as if its source had more in it."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    assert name not in sys.modules, f"{name} was imported before it could be edited"
    source = Path(spec.origin).read_text()
    assert source.count(after) == 1, f"{name} does not have the line {after!r} once"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # the package's own source with one line more
    exec(compile(source.replace(after, after + more), spec.origin, "exec"), module.__dict__)  # noqa: S102
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)


async def found(directory: Path) -> dict[str, Any]:
    """Where the attribute turned up."""
    from msgspec.structs import asdict
    from sqlalchemy import text

    from evenkeel.api.app import create_app
    from evenkeel.core.devices.capabilities import OPTIONS, Capabilities, listener_problems
    from evenkeel.core.devices.service import service_definition_of_tree
    from evenkeel.core.resources.attributes import CHANGEABLE_ATTRIBUTES
    from evenkeel.core.resources.model import Listener
    from evenkeel.network.builtin import BuiltinNetwork
    from evenkeel.store.records import schema
    from evenkeel.store.records.rows import KINDS, row_from_resource
    from tests.api.client import Client, Sink
    from tests.api.stores import started_store
    from tests.api.subnet import SUBNET

    made = Listener(id="l", load_balancer_id="b", project_id="p", protocol="HTTP", protocol_port=80, x_limit=9)  # type: ignore[call-arg]
    row, kind = row_from_resource(made), KINDS[Listener]
    column = schema.listener.c.x_limit
    shown: dict[str, Any] = {
        "column": [str(column.type), column.nullable, column.server_default.arg],
        "row": row["x_limit"],
        "read from its row": kind.build([row[each.name] for each in kind.columns]) == made,
        "changeable": "x_limit" in CHANGEABLE_ATTRIBUTES[Listener],
        "option": "listener.x_limit" in OPTIONS,
        "refused by a device type": list(listener_problems(Capabilities(options=()), {"x_limit": 9})),
    }
    async with started_store(directory) as store:
        await store.database.write(
            lambda connection: connection.execute(text("ALTER TABLE listener ADD x_limit INTEGER NOT NULL DEFAULT '5'"))
        )
        app = create_app(store=store, network=BuiltinNetwork(store.operators), driver=Sink(), default_provider="dev")
        async with Client.of(app) as api:
            root = (await api.post("/loadbalancers", {"loadbalancer": {"vip_subnet_id": SUBNET.id}}))["loadbalancer"]
            wanted = {"loadbalancer_id": root["id"], "protocol": "HTTP"}
            body = {"listener": {**wanted, "protocol_port": 80, "x_limit": 7}}
            path = f"/listeners/{(await api.post('/listeners', body))['listener']['id']}"
            shown["created"] = (await api.get(path))["listener"]["x_limit"]
            body = {"listener": {**wanted, "protocol_port": 81}}
            shown["created without"] = (await api.post("/listeners", body))["listener"]["x_limit"]
            body = {"listener": {**wanted, "protocol_port": 82, "x_limit": 10}}
            shown["out of bounds"] = (await api.post("/listeners", body, 400))["faultstring"]
            shown["changed"] = (await api.call("PUT", path, 200, {"listener": {"x_limit": 8}}))["listener"]["x_limit"]
            shown["filtered"] = len((await api.get("/listeners?x_limit=8"))["listeners"])
            shown["ordered"] = [each["x_limit"] for each in (await api.get("/listeners?sort=x_limit"))["listeners"]]
            document = (await api.get("/openapi.json"))["components"]["schemas"]
            shown["documented"] = [
                name for name in sorted(document) if "x_limit" in document[name].get("properties", {})
            ]
            tree = await store.tenants.tree(root["id"], project_id=None)
            shown["service definition"] = [
                asdict(each)["x_limit"] for each in service_definition_of_tree(tree).listeners
            ]
            shown["reset by null"] = (await api.call("PUT", path, 200, {"listener": {"x_limit": None}}))["listener"][
                "x_limit"
            ]
    return shown


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    for name, (after, more) in EDITS.items():
        edit(name, after, more)
    print(json.dumps(asyncio.run(found(Path(sys.argv[1])))))
