"""What a controller's process undoes when it ends."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from oslo_config import cfg
from prometheus_client import REGISTRY

from evenkeel.cmd.configuration.loading import load_configuration
from evenkeel.cmd.configuration.sections import CONTROLLER_OPTION_GROUPS
from evenkeel.cmd.controllers.controller_parts import ControllerDependencies, open_controller_dependencies
from evenkeel.cmd.controllers.controller_process import serve_until_cancelled
from evenkeel.cmd.controllers.process_context import ProcessContext
from evenkeel.cmd.process.endpoint import api_socket
from evenkeel.cmd.process.service_manager import ServiceManager
from evenkeel.controller.service import Controller
from evenkeel.metrics.system import SystemCollector
from tests.cmd.small_controller import small_controller


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    return load_configuration(
        "controller", ["--config-file", str(small_controller(tmp_path))], groups=CONTROLLER_OPTION_GROUPS
    )


@pytest.fixture
async def parts(conf: cfg.ConfigOpts) -> AsyncIterator[ControllerDependencies]:
    opened = await open_controller_dependencies(conf)
    yield opened
    await opened.close()


async def test_metrics_that_cannot_be_served_leave_no_controller_running(
    conf: cfg.ConfigOpts, parts: ControllerDependencies, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, stopped = Controller.stop, []

    async def stop_and_tell(self: Controller) -> None:
        await stop(self)
        stopped.append(self)

    async def fail(*_: object) -> None:
        raise OSError("no more descriptors")

    monkeypatch.setattr(Controller, "stop", stop_and_tell)
    monkeypatch.setattr(parts.metrics, "start", fail)
    with api_socket(conf) as listening, pytest.raises(OSError, match="no more descriptors"):
        await serve_until_cancelled(
            conf, parts, ProcessContext(listening, ServiceManager({})), lambda _: pytest.fail("it serves")
        )
    assert len(stopped) == 1
    registered = vars(REGISTRY)["_collector_to_names"]
    assert not [each for each in registered if isinstance(each, SystemCollector)]
