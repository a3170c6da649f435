"""Tags of load balancers in a table of their own, which has an index: lists filtered by tags read it first.

The column ``tags`` of a load balancer is authoritative. Controllers from before 0033, which may run beside newer ones
during an upgrade, write only that: so each controller compares the rows with it once, when it starts.
"""

from collections import defaultdict
from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection, delete, select

from evenkeel.store.engine.inserting import Rows, insert_together
from evenkeel.store.records import schema

_root, _tag = schema.load_balancer, schema.load_balancer_tag


def tag_rows(load_balancer_id: str, tags: Iterable[str]) -> Rows:
    """Rows of tags for a load balancer that has none yet."""
    return Rows(_tag, [{"tag": tag, "load_balancer_id": load_balancer_id} for tag in sorted(set(tags))])


def replace_tags(connection: Connection, load_balancer_id: str, tags: Iterable[str]) -> None:
    """Replace the tags of a load balancer, which must be locked."""
    connection.execute(delete(_tag).where(_tag.c.load_balancer_id == load_balancer_id))
    insert_together(connection, [tag_rows(load_balancer_id, tags)])


def compare_tags(connection: Connection, after: str, limit: int) -> tuple[list[str], str]:
    """Compare the tags of ``limit`` load balancers with ids above ``after``; returns the differing ones, and the last
    id.

    The last id is empty if there are no more load balancers. Two queries.
    """
    roots = select(_root.c.id, _root.c.tags).where(_root.c.id > after).order_by(_root.c.id).limit(limit)
    stored = {row.id: _decoded(row.tags) for row in connection.execute(roots)}
    if not stored:
        return [], ""
    last = list(stored)[-1]
    found: dict[str, set[str]] = defaultdict(set)
    rows = select(_tag).where(_tag.c.load_balancer_id > after, _tag.c.load_balancer_id <= last)
    for row in connection.execute(rows):
        found[row.load_balancer_id].add(row.tag)
    differing = [id_ for id_, tags in stored.items() if found.get(id_, set()) != tags]
    return differing, last if len(stored) == limit else ""


def correct_tags(connection: Connection, load_balancer_id: str) -> None:
    """Set the tag rows of a load balancer to its tags."""
    stored = select(_root.c.tags).where(_root.c.id == load_balancer_id).with_for_update()
    tags = connection.scalar(stored)
    if tags is not None:
        replace_tags(connection, load_balancer_id, _decoded(tags))


def _decoded(tags: str) -> set[str]:
    return set(msgspec.json.decode(tags, type=list[str]))
