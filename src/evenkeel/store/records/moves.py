"""Converts rows of moves of load balancers to values."""

from typing import Any

import msgspec

from evenkeel.core.control.moves import Move, MoveStep
from evenkeel.store.records import schema

_load_balancer_move = schema.load_balancer_move


def move_from_row(row: Any) -> Move:
    """Build the move from a row with all columns of its table."""
    values: dict[str, Any] = {name: getattr(row, name) for name in Move.__struct_fields__}
    values["step"] = MoveStep(row.step)
    return Move(**values)


def move_columns(move: Move) -> dict[str, Any]:
    return msgspec.structs.asdict(move) | {"step": move.step.value}
