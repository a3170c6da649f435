"""An SQL expression that MariaDB needs in another form than the other databases."""

from typing import Any

from sqlalchemy import ColumnElement, Text, func, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


def mariadb_variant(general: ColumnElement[Any], *, mariadb: ColumnElement[Any]) -> ColumnElement[Any]:
    """``general``, or ``mariadb`` on MariaDB. Both must have the same meaning and type."""
    return _Variant(general, mariadb)


class _Variant(FunctionElement[Any]):
    inherit_cache = True
    name = "variant"

    def __init__(self, general: ColumnElement[Any], mariadb: ColumnElement[Any]) -> None:
        super().__init__(general, mariadb)
        self.type = general.type


@compiles(_Variant)
def _compile_first(element: _Variant, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(next(iter(element.clauses)), **kw))


@compiles(_Variant, "mysql")
@compiles(_Variant, "mariadb")
def _mariadb(element: _Variant, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(list(element.clauses)[1], **kw))


def join_values(column: ColumnElement[str]) -> ColumnElement[str]:
    """An aggregate: the column's values joined by commas."""
    comma: Any = literal_column("','")  # a string literal would be rendered again at each execution
    return func.aggregate_strings(column, comma)


class group_concat(FunctionElement[str]):
    """MariaDB's aggregate: the column's values in an order, joined by commas."""

    type = Text()
    inherit_cache = True
    name = "group_concat"

    def __init__(self, column: ColumnElement[Any], *order: ColumnElement[Any]) -> None:
        super().__init__(column, *order)


@compiles(group_concat)
def _group_concat(element: group_concat, compiler: Any, **kw: Any) -> str:
    column, *order = (str(compiler.process(each, **kw)) for each in element.clauses)
    return f"GROUP_CONCAT({column} ORDER BY {', '.join(order)} SEPARATOR ',')"
