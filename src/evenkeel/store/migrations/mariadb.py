"""Migrations on MariaDB, where DDL is not part of a transaction: each statement takes effect by itself.

So each statement may run again (IF NOT EXISTS, IF EXISTS), and an interrupted migration continues when the next
controller starts. A migration that changes rows must be repeatable, too.

Tables do not depend on the server's defaults: InnoDB, full Unicode, and exact comparison of texts (most of MariaDB's
collations ignore trailing spaces).
"""

import re
from typing import Any

from alembic.ddl.base import AddColumn
from alembic.ddl.mysql import MySQLImpl
from sqlalchemy import Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex, CreateTable, DropIndex

TABLE_OPTIONS = " ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"

CAME_SECOND = frozenset({1050, 1060, 1061, 1062, 1684})
"""MariaDB's error numbers of a statement that came second: the table, column, index or row exists already, or the table
is just being changed.
"""


class ResumableImpl(MySQLImpl):
    """Replaces Alembic's implementation of DDL on MariaDB, so that creating and dropping statements may run
    again.
    """

    __dialect__ = "mariadb"

    def _exec(self, construct: Any, *args: Any, **kw: Any) -> Any:
        if isinstance(construct, CreateTable | CreateIndex | AddColumn):
            construct.if_not_exists = True
        elif isinstance(construct, DropIndex):
            construct.if_exists = True
        return super()._exec(construct, *args, **kw)


@compiles(CreateTable, "mariadb")
def _create_table(element: CreateTable, compiler: Any, **kw: Any) -> str:
    made = str(compiler.visit_create_table(element, **kw)).rstrip() + TABLE_OPTIONS
    return re.sub(r"CONSTRAINT \w+ PRIMARY KEY", "PRIMARY KEY", made)  # MariaDB ignores another name with a warning


@compiles(AddColumn, "mariadb")
def _add_column(element: AddColumn, compiler: Any, **kw: Any) -> str:
    table = compiler.preparer.quote(element.table_name)
    return f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {compiler.get_column_specification(element.column)}"


@compiles(Text, "mariadb")
def _compile_text_type(_type: Text, _compiler: Any, **_kw: Any) -> str:
    return "MEDIUMTEXT"  # TEXT holds 65,535 bytes
