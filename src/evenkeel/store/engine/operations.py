"""Methods of the stores that run one function in one transaction, declared as class attributes.

``record_plan = writing(plans.record_plan)`` makes a method with the function's parameters after the connection. The
contract of the method is that of the port that the store implements.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

P = ParamSpec("P")
T = TypeVar("T")
Operation = Callable[Concatenate[Connection, P], T]
Method = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]


def reading(function: Operation[P, T]) -> Method[P, T]:
    """Return a method that runs the function in a read transaction: all of its statements see one state."""

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: T = await self._db.read(lambda connection: function(connection, *args, **kwargs))
        return found

    return method


def querying(function: Operation[P, T]) -> Method[P, T]:
    """Return a method that runs the function, of one statement, without a transaction."""

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: T = await self._db.query(lambda connection: function(connection, *args, **kwargs))
        return found

    return method


def writing(function: Operation[P, T]) -> Method[P, T]:
    """Return a method that runs the function in a write transaction, which is repeated after a conflict."""

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self._db.write(lambda connection: function(connection, *args, **kwargs))
        return result

    return method
