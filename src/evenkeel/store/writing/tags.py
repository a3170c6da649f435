"""Tags of load balancers in a table of their own, which has an index: lists filtered by tags read it first.

The column ``tags`` of a load balancer is authoritative; both are written in one transaction.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, delete

from evenkeel.store.engine.inserting import TableRows, insert_into_tables
from evenkeel.store.records import schema

_load_balancer, _load_balancer_tag = schema.load_balancer, schema.load_balancer_tag


def tag_rows(load_balancer_id: str, tags: Iterable[str]) -> TableRows:
    """Return rows of tags for a load balancer that has none yet."""
    return TableRows(
        _load_balancer_tag, [{"tag": tag, "load_balancer_id": load_balancer_id} for tag in sorted(set(tags))]
    )


def replace_tags(connection: Connection, load_balancer_id: str, tags: Iterable[str]) -> None:
    """Replace the rows of tags of a load balancer, which must be locked. The column ``tags`` is left
    unchanged.
    """
    connection.execute(delete(_load_balancer_tag).where(_load_balancer_tag.c.load_balancer_id == load_balancer_id))
    insert_into_tables(connection, [tag_rows(load_balancer_id, tags)])
