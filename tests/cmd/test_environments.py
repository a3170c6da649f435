"""The controllers' option ``environments`` beside what operators have set meanwhile."""

from pathlib import Path

import pytest

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.controllers.controller_parts import parse_environment
from evenkeel.cmd.controllers.controller_process import start_store
from evenkeel.cmd.options import options
from evenkeel.core.resources.statuses import FailbackMode
from evenkeel.store.sql_store import open_store


async def test_a_restart_leaves_alone_what_operators_set_and_refuses_another_device_driver(tmp_path: Path) -> None:
    conf = load_configuration(
        "controller", [], groups={None: options.CONTROLLER_OPTIONS, "database": options.DATABASE_OPTIONS}
    )
    store = open_store(f"sqlite:///{tmp_path}/e.db")
    try:
        await start_store(store, [parse_environment("prod:bigip")], conf)
        changed = await store.operators.update_environment(
            "prod", {"failback": FailbackMode.MANUAL, "description": "ours"}
        )
        await start_store(store, [parse_environment("prod:bigip"), parse_environment("lab:noop")], conf)
        lab, prod = await store.operators.environments()
        assert (lab.name, prod) == ("lab", changed)
        with pytest.raises(ValueError, match=r"^environments: .*prod exists with device_driver 'bigip' and not 'noop'"):
            await start_store(store, [parse_environment("prod:noop")], conf)
    finally:
        await store.close()
