"""UPDATE of one row that returns the row, also where there is no UPDATE ... RETURNING (MariaDB).

There it is an UPDATE and, in the same transaction, a SELECT of the row by its key: the UPDATE locks the row, so no
other transaction changes it in between.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Update, select
from sqlalchemy.sql.dml import ReturningUpdate


class UpdateReturning(NamedTuple):
    """A statement from :func:`update_returning`: created once, run often."""

    returning_update: ReturningUpdate[Any]
    plain_update: Update
    row_query: Select[Any]

    def first_row(self, connection: Connection, parameters: Mapping[str, Any] | None = None) -> Any:
        """Run the statement, and return the updated row with the columns of :func:`update_returning`; None if
        no row matched.
        """
        given = dict(parameters or {})
        if connection.dialect.update_returning:
            return connection.execute(self.returning_update, given).first()
        if connection.execute(self.plain_update, given).rowcount == 0:
            return None
        # By the key alone: the UPDATE may have changed what its own condition compared.
        return connection.execute(self.row_query, given).first()


def update_returning(statement: Update, *columns: ColumnElement[Any], by: ColumnElement[bool]) -> UpdateReturning:
    """Prepare a statement that updates one row and returns ``columns`` of it.

    ``by``: condition that selects the row before and after the update; ``statement`` must update at most that row.
    """
    return UpdateReturning(statement.returning(*columns), statement, select(*columns).where(by))
