"""Reading load balancers and what is below them."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, bindparam, case, func, select

from evenkeel.core.control import ListQuery, Page, ServedBy
from evenkeel.core.errors import NotFound
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.model import ListenerStatistics, LoadBalancerTree, one_family
from evenkeel.store.engine.in_list import storable
from evenkeel.store.options import Part
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import build, whole_columns
from evenkeel.store.records.listing import list_page
from evenkeel.store.records.loading import load_trees
from evenkeel.store.records.rows import KINDS, L7POLICY, L7RULE, LOAD_BALANCER, POOL, Kind, vips_of
from evenkeel.store.writing.revision_lock import Target, read_any

_counts = schema.listener_statistics


@cache
def _served_by(kind: Kind) -> Select[Any]:
    root, table = schema.load_balancer, kind.table
    is_root = root.c.id == bindparam("object_id")
    if kind is not LOAD_BALANCER:
        owner = select(table.c.load_balancer_id).where(table.c.id == bindparam("object_id"))
        is_root = root.c.id == owner.scalar_subquery()
    environment = schema.environment
    return (
        select(
            root.c.id.label("load_balancer_id"),
            root.c.project_id,
            root.c.provider,
            environment.c.device_driver,
            case((root.c.root_pool_id.is_(None), root.c.vip_address)).label("vip_address"),
            root.c.additional_vips,
        )
        .join(environment, environment.c.name == root.c.provider)
        .where(is_root)
    )


class TenantReads(Part):
    """The part of :class:`evenkeel.core.ports.TenantStore` that reads."""

    async def get(
        self, kind: type[Any], object_id: str, *, parent_id: str | None = None, project_id: str | None
    ) -> Any:
        """One object with its ids of children; one query. Raises :class:`NotFound`."""
        target = Target(KINDS[kind], object_id, project_id, parent_id)
        columns = whole_columns(target.kind)
        return build(target.kind, await self._db.query(lambda connection: read_any(connection, target, columns)))

    async def served_by(self, kind: type[Any], object_id: str, *, project_id: str | None) -> ServedBy:
        """See :meth:`evenkeel.core.ports.TenantStore.served_by`."""
        stored, parameters = KINDS[kind], {"object_id": storable(object_id)}
        row = await self._db.query(lambda connection: connection.execute(_served_by(stored), parameters).first())
        if row is None or project_id not in (None, row.project_id):
            raise NotFound(stored.title, object_id)
        known = dict(row._mapping)
        more = [vip.address for vip in vips_of(known.pop("additional_vips"))]
        return ServedBy(**known | {"vip_address": one_family(known["vip_address"], more)})

    async def list(self, kind: type[Any], query: ListQuery, *, parent_id: str | None = None) -> Page:
        """A page of objects; ``parent_id`` is the pool of members or the policy of rules.

        Raises :class:`Invalid` for unknown filter or sort names and markers, :class:`NotFound` for the parent.
        """
        stored = KINDS[kind]

        def op(connection: Connection) -> Page:
            conditions: list[ColumnElement[bool]] = []
            if parent_id is not None and stored.parent is not None:
                conditions.append(stored.parent == storable(parent_id))
            page = list_page(connection, stored, query, conditions)
            if parent_id is not None and not page.items:
                read_any(connection, Target(L7POLICY if stored is L7RULE else POOL, parent_id, query.project_id))
            return page

        alone = query.marker is None and parent_id is None
        return await (self._db.query(op) if alone else self._db.read(op))

    async def tree(
        self, load_balancer_id: LoadBalancerId, *, project_id: str | None, statuses_only: bool = False
    ) -> LoadBalancerTree:
        """See :meth:`evenkeel.core.ports.TenantStore.tree`."""
        trees = await self._db.read(lambda connection: load_trees(connection, [load_balancer_id], brief=statuses_only))
        tree = trees.get(load_balancer_id)
        if tree is None or project_id not in (None, tree.load_balancer.project_id):
            raise NotFound(LOAD_BALANCER.title, load_balancer_id)
        return tree

    async def statistics(
        self, load_balancer_id: LoadBalancerId, *, listener_id: str | None = None
    ) -> ListenerStatistics:
        """Totals of one listener or, summed, of the load balancer; zeros if nothing was counted yet."""
        names = ListenerStatistics.__struct_fields__
        statement = select(*(func.sum(_counts.c[name]) for name in names)).where(
            _counts.c.load_balancer_id == load_balancer_id
        )
        if listener_id is not None:
            statement = statement.where(_counts.c.listener_id == listener_id)
        row = await self._db.read(lambda connection: connection.execute(statement).one())
        # PostgreSQL sums big integers to decimals
        return ListenerStatistics(**{name: int(total or 0) for name, total in zip(names, row, strict=True)})
