"""A real server of the API on a free port, in a thread, over a real SQLite store."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import uvicorn

from evenkeel.api.app import create_app
from evenkeel.api.identity.caller import Authenticator
from evenkeel.core.control.environments import Environment
from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.control.writes import Change
from evenkeel.core.ports import Store
from evenkeel.core.protocol.inquiries import Inquiry
from evenkeel.core.protocol.messages import Register, ReportApplied, ReportPlan
from evenkeel.core.resources.statuses import HaType
from evenkeel.core.status.outcomes import Applied
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import open_store
from tests.api.stores import new_file
from tests.api.subnet import SUBNET

START_SECONDS = 60.0
KEPT_SECONDS = 3600
"""An idle connection stays open: a client that was held up may send just when the server's five seconds are over."""


class InstantAgent:
    """A change sink that plays scheduler and agent: it places what is accepted and confirms it at once, or says why the
    device refuses it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def register(self) -> None:
        """Become the only agent of environment ``dev``."""
        call = Register(
            agent_id="instant",
            session_id="session",
            environment="dev",
            group_number=1,
            host="host",
            device_driver="noop",
            ha_type=HaType.STANDALONE,
        )
        await self._store.ownership.register(call, ttl_seconds=3600.0)

    async def change_accepted(self, change: Change, *, error: str = "") -> None:
        if not change.placed and change.tree is not None:
            project_id = change.tree.load_balancer.project_id
            await self._store.scheduling.place_load_balancer(
                change.load_balancer_id, change.environment, project_id, 1, "instant"
            )
        shard = await self._store.operators.shard_of_load_balancer(change.load_balancer_id)
        if shard is not None:
            applied = Applied(load_balancer_id=change.load_balancer_id, revision=change.revision, error=error)
            await self._store.reports.record_applied(
                ReportApplied(
                    agent_id="instant", session_id="session", shard_id=shard.id, epoch=shard.epoch, outcomes=(applied,)
                )
            )

    async def failover_requested(self, change: Change) -> None:
        await self.change_accepted(change)

    async def request_full_resync(self, owners: Any) -> None:
        """Nobody looks."""

    async def send_inquiry(self, owner: ShardOwner, inquiry: Inquiry) -> None:
        """Nothing differs on any device."""
        shard = await self._store.operators.shard(owner.shard_id)
        answer = ReportPlan(
            agent_id="instant",
            session_id="session",
            shard_id=shard.id,
            epoch=shard.epoch,
            inquiry_id=inquiry.inquiry_id,
        )
        await self._store.reports.record_plan(answer)


class LiveServer:
    """A serving thread. Use :meth:`started`."""

    def __init__(self, folder: Path, identity: Authenticator | None) -> None:
        self._folder = folder
        self._identity = identity
        self._server: uvicorn.Server | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="live-api")
        self.url = ""

    @classmethod
    @contextlib.contextmanager
    def started(cls, folder: Path, identity: Authenticator | None = None) -> Iterator[Self]:
        """Serve until the block ends. ``folder`` takes the database."""
        server = cls(folder, identity)
        server._thread.start()
        try:
            server._wait()
            yield server
        finally:
            if server._server is not None:
                server._server.should_exit = True
            server._thread.join(START_SECONDS)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self._server is None or not self._server.started:
            if self._failure is not None or time.monotonic() > deadline:
                raise RuntimeError("the API did not start") from self._failure
            time.sleep(0.02)
        host, port = self._server.servers[0].sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}"

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error

    async def _serve(self) -> None:
        store = open_store(f"sqlite:///{await new_file(self._folder)}")
        await store.start()
        await store.operators.add_environment(Environment(name="dev", device_driver="noop"))
        await store.operators.add_subnet(SUBNET)
        agent = InstantAgent(store)
        await agent.register()
        app = create_app(
            store=store,
            network=BuiltinNetwork(store.operators),
            driver=agent,
            default_provider="dev",
            identity=self._identity,
        )
        config = uvicorn.Config(
            app,
            host="127.0.0.1",
            port=0,
            access_log=False,
            log_level="error",
            lifespan="off",
            timeout_keep_alive=KEPT_SECONDS,
        )
        self._server = uvicorn.Server(config)
        try:
            await self._server.serve()
        finally:
            await store.close()
