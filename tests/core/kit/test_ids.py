"""A swapped id does not pass the type checker, and an id in a message is a plain string."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, SessionId, ShardId
from evenkeel.core.protocol import messages as m

ROOT = Path(__file__).parents[3]

IMPORTS = """
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, SessionId, ShardId
from evenkeel.core.protocol.messages import GetServices
from evenkeel.core.placement import AssignStep
from evenkeel.core.ports import Store

async def use(
    store: Store, agent: AgentId, shard: ShardId, session: SessionId, load_balancer: LoadBalancerId, project: ProjectId
) -> None:
"""
RIGHT = """
    AssignStep(shard_id=shard, seen_epoch=1, agent_id=agent)
    GetServices(agent_id=agent, session_id=session, shard_id=shard, epoch=1, load_balancer_ids=(load_balancer,))
    await store.operators.agent(agent)
    await store.operators.shard_of_load_balancer(load_balancer)
    await store.quotas.quotas_of(project)
    await store.tenants.tree(load_balancer, project_id=project)
"""
SWAPPED = """
    AssignStep(shard_id=agent, seen_epoch=1, agent_id=agent)  # wrong
    AssignStep(shard_id=shard, seen_epoch=1, agent_id=shard)  # wrong
    GetServices(agent_id=agent, session_id=agent, shard_id=shard, epoch=1)  # wrong
    GetServices(agent_id=agent, session_id=session, shard_id=shard, epoch=1, load_balancer_ids=(shard,))  # wrong
    await store.operators.agent(session)  # wrong
    await store.operators.shard_of_load_balancer(agent)  # wrong
    await store.operators.shard_of_load_balancer("text")  # wrong
    await store.quotas.quotas_of(agent)  # wrong
    await store.tenants.tree(load_balancer, project_id=load_balancer)  # wrong
"""


def _errors(snippet: Path) -> set[int]:
    """The lines of a snippet that mypy refuses."""
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--hide-error-context", str(snippet)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    lines = [line.split(":") for line in done.stdout.splitlines() if ": error:" in line]
    assert all(Path(line[0]).name == snippet.name for line in lines), done.stdout
    assert done.returncode == bool(lines), done.stderr
    return {int(line[1]) for line in lines}


def test_a_swapped_id_does_not_pass_the_type_checker(tmp_path: Path) -> None:
    snippet = tmp_path / "snippet.py"
    snippet.write_text(IMPORTS + RIGHT + SWAPPED)
    wrong = {number for number, line in enumerate(snippet.read_text().splitlines(), 1) if line.endswith("# wrong")}
    assert _errors(snippet) == wrong


@pytest.mark.parametrize("kind", [AgentId, LoadBalancerId, ProjectId, SessionId, ShardId])
def test_an_id_is_a_plain_string_at_run_time(kind: type[str]) -> None:
    assert type(kind("a")) is str


def test_an_id_in_a_message_is_a_plain_string() -> None:
    call = m.Keepalive(agent_id=AgentId("a"), session_id=SessionId("s"))
    raw = msgspec.json.encode(call)
    assert raw == b'{"type":"keepalive","agent_id":"a","session_id":"s"}'
    assert msgspec.json.decode(raw, type=m.Keepalive) == call
