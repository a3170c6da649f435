"""Methods of the stores that run one function on the database, declared as class attributes.

``record_plan = write_operation(plans.record_plan_answer)`` makes a method with the function's parameters
after the connection. The contract of the method is that of the port that the store implements.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from evenkeel.store.engine.base import Database, Op

P = ParamSpec("P")
T = TypeVar("T")
Operation = Callable[Concatenate[Connection, P], T]
StoreMethod = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]


RunOperation = Callable[[Database, Op[T]], Awaitable[T]]


def read_operation(function: Operation[P, T]) -> StoreMethod[P, T]:
    """Return a method that runs the function in a read transaction: all of its statements see one state."""
    return _make_store_method(lambda database, work: database.read(work), function)


def query_operation(function: Operation[P, T]) -> StoreMethod[P, T]:
    """Return a method that runs the function outside of a transaction; the function must execute only one
    statement.
    """
    return _make_store_method(lambda database, work: database.query(work), function)


def write_operation(function: Operation[P, T]) -> StoreMethod[P, T]:
    """Return a method that runs the function in a write transaction, which is repeated after a conflict."""
    return _make_store_method(lambda database, work: database.write(work), function)


def _make_store_method(run: RunOperation[T], function: Operation[P, T]) -> StoreMethod[P, T]:
    async def run_operation(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await run(self._db, lambda connection: function(connection, *args, **kwargs))

    return run_operation
