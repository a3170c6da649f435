"""Operators' inquiries about the changes that an agent's next pass over a load balancer would make."""

import msgspec
from sqlalchemy import Connection, delete, insert, select

from evenkeel.core.devices.plans import PlanAnswer
from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema

KEPT_SECONDS = 600.0

_plan_inquiry = schema.plan_inquiry


def add_plan_inquiry(
    connection: Connection, inquiry_id: str, shard_id: ShardId, load_balancer_id: LoadBalancerId
) -> None:
    """Store an operator's inquiry for the agent of the shard, still without an answer, and delete inquiries
    older than :data:`KEPT_SECONDS`.
    """
    # Nothing else removes them: inquiries are rare, and each one cleans up after the former ones.
    connection.execute(delete(_plan_inquiry).where(_plan_inquiry.c.asked_at < db_now() - KEPT_SECONDS))
    connection.execute(
        insert(_plan_inquiry).values(
            id=inquiry_id, shard_id=shard_id, load_balancer_id=load_balancer_id, asked_at=db_now(), answer=None
        )
    )


def read_plan_answer(connection: Connection, inquiry_id: str) -> PlanAnswer | None:
    """Return the agent's answer to an operator's inquiry; None if there is none yet, or no such inquiry."""
    found = connection.scalar(select(_plan_inquiry.c.answer).where(_plan_inquiry.c.id == inquiry_id))
    return None if found is None else msgspec.json.decode(found, type=PlanAnswer)
