"""An SQL expression that MariaDB needs in another form than the other databases."""

from typing import Any

from sqlalchemy import ColumnElement, Text, func, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


def mariadb_variant(general: ColumnElement[Any], *, mariadb: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return an expression that is ``mariadb`` on MariaDB, and ``general`` on other databases. Both must have the same
    meaning and type.
    """
    return _Variant(general, mariadb)


class _Variant(FunctionElement[Any]):
    inherit_cache = True
    name = "variant"

    def __init__(self, general: ColumnElement[Any], mariadb: ColumnElement[Any]) -> None:
        super().__init__(general, mariadb)
        self.type = general.type


@compiles(_Variant)
def _compile_general_variant(element: _Variant, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(next(iter(element.clauses)), **kw))


@compiles(_Variant, "mysql")
@compiles(_Variant, "mariadb")
def _compile_for_mariadb(element: _Variant, compiler: Any, **kw: Any) -> str:
    return str(compiler.process(list(element.clauses)[1], **kw))


def join_values(column: ColumnElement[str]) -> ColumnElement[str]:
    """Return the SQL aggregate that joins the column's values by commas; NULL without values."""
    comma: Any = literal_column("','")  # a string literal would be rendered again at each execution
    return func.aggregate_strings(column, comma)


class group_concat(FunctionElement[str]):
    """SQL aggregate of MariaDB that joins the column's values in a given order, separated by commas."""

    type = Text()
    inherit_cache = True
    name = "group_concat"

    def __init__(self, column: ColumnElement[Any], *order: ColumnElement[Any]) -> None:
        super().__init__(column, *order)


@compiles(group_concat)
def _compile_group_concat(element: group_concat, compiler: Any, **kw: Any) -> str:
    column, *order = (str(compiler.process(each, **kw)) for each in element.clauses)
    return f"GROUP_CONCAT({column} ORDER BY {', '.join(order)} SEPARATOR ',')"
