"""Agents' answers to operators' inquiries about the changes that the next pass would make."""

import msgspec
from sqlalchemy import Connection, update

from evenkeel.core.devices.plans import PlanAnswer, truncate_plans
from evenkeel.core.protocol.messages import ReportPlan
from evenkeel.store.ownership.services import check_shard_owner
from evenkeel.store.records import schema

PROBLEM_CHARACTERS_MAX = 1000

_plan_inquiry = schema.plan_inquiry


def record_plan_answer(connection: Connection, report: ReportPlan) -> None:
    """Store the agent's answer, cut to the limits of its size, with the operator's inquiry if the inquiry
    still exists. Raises :class:`SessionLost` unless the agent owns the shard.
    """
    check_shard_owner(connection, report.agent_id, report.session_id, report.shard_id, report.epoch)
    answer = PlanAnswer(devices=truncate_plans(report.devices), problem=report.problem[:PROBLEM_CHARACTERS_MAX])
    connection.execute(
        update(_plan_inquiry)
        .where(_plan_inquiry.c.id == report.inquiry_id, _plan_inquiry.c.shard_id == report.shard_id)
        .values(answer=msgspec.json.encode(answer).decode())
    )
