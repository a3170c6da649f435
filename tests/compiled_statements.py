"""Engines of a test process share their compiled SQL statements.

SQLAlchemy keeps them by engine, and each test opens engines of its own: it would compile every statement anew, a
quarter of the CPU time of the store's tests. A process that is not a test compiles each statement once, too.
"""

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine import Dialect
from sqlalchemy.util import LRUCache

STATEMENTS = 5000
_NOT_IN_SQL = frozenset({"default_schema_name"})
"""Attributes of dialects that differ between databases and do not change SQL."""
_SIMPLE = (bool, int, str, tuple, frozenset, type(None))

_compiled: LRUCache[Any, Any] = LRUCache(STATEMENTS)


class SharedStatements(dict[Any, Any]):
    """What an engine takes for its cache; the statements are in one that dialects share whose settings are equal."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__()
        self._dialect = dialect

    @cached_property
    def _kind(self) -> Hashable:
        """At the first statement: what its server is a dialect learns from its first connection."""
        return (type(self._dialect), tuple(_settings(self._dialect)))

    def get(self, key: Any, default: Any = None) -> Any:
        """``key``: a dialect, and what else a compiled statement depends on."""
        return _compiled.get((self._kind, *key[1:]), default)

    def __setitem__(self, key: Any, compiled: Any) -> None:
        _compiled[(self._kind, *key[1:])] = compiled


def _settings(dialect: Dialect) -> Iterator[tuple[str, Hashable]]:
    for name, value in sorted(vars(dialect).items()):
        if name not in _NOT_IN_SQL:
            yield name, value if isinstance(value, _SIMPLE) or callable(value) else type(value)


def share_compiled_statements() -> None:
    """From now on, of all engines. A property, for SQLAlchemy reads the signature of an engine's ``__init__``."""

    def set_cache(engine: Engine, cache: Any) -> None:
        is_own = cache is not None and not isinstance(cache, SharedStatements)
        vars(engine)["_statements"] = SharedStatements(engine.dialect) if is_own else cache

    Engine._compiled_cache = property(lambda engine: vars(engine)["_statements"], set_cache)  # type: ignore[assignment]
