"""Networks that operators declare for the built-in network service, and the load balancers on changed
networks.
"""

from sqlalchemy import ColumnElement, Connection, and_, delete, false, select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.networking.networks import DeclaredNetwork
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.inserting import insert_rows
from evenkeel.store.networks.common import raise_revisions_for_changed_facts
from evenkeel.store.networks.network_attachment import is_network_attached, users_of_network_query
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.rows import NETWORK_COLUMNS, network_from_row, row_from_network
from evenkeel.store.writing.changes import new_change_parameter
from evenkeel.store.writing.events import record_event
from evenkeel.store.writing.operator_actions import record_operator_action_event
from evenkeel.store.writing.revision_lock import read_changes, revision_assignments
from evenkeel.store.writing.revisions import store_revision_requesters

_network = schema.network
_load_balancer = schema.load_balancer


def read_networks(connection: Connection) -> tuple[DeclaredNetwork, ...]:
    """Return all stored networks, declared by operators or read from the network service, sorted by name. One
    query.
    """
    return tuple(
        network_from_row(row) for row in connection.execute(select(*NETWORK_COLUMNS).order_by(_network.c.name))
    )


def add_network(connection: Connection, network: DeclaredNetwork) -> None:
    """Store a declared network, and record the operator's act. Raises ``IntegrityError`` if the id, name or
    segment exists.
    """
    insert_rows(connection, _network, [row_from_network(network)])
    record_operator_action_event(
        connection, kind="network_added", done=f"network {name_and_id(network.name, network.id)} was added"
    )


def update_network(connection: Connection, network: DeclaredNetwork, options: StoreOptions) -> tuple[Change, ...]:
    """Change a declared network, and record the operator's act; return the changes of load balancers, none if
    nothing differs. Raises ``IntegrityError`` if the name or segment exists, :class:`NotFound`,
    :class:`Conflict` for a network that was read from the network service.
    """
    found = connection.execute(select(*NETWORK_COLUMNS).where(_network.c.id == network.id)).first()
    if found is None:
        raise NotFound("Network", network.id)
    known = network_from_row(found)
    if known.from_service:
        raise Conflict(f"Network {network.id}: its facts come from the network service.")
    if known == network:
        return ()
    record_operator_action_event(
        connection, kind="network_updated", done=f"network {name_and_id(network.name, network.id)} was changed"
    )
    return replace_network_facts(connection, network, options)


def replace_network_facts(
    connection: Connection, network: DeclaredNetwork, options: StoreOptions
) -> tuple[Change, ...]:
    """Replace a network's stored facts; return the changes of load balancers on it. Raises ``IntegrityError`` if the
    name or segment exists.
    """
    changes = raise_revisions_on_network(connection, network.id, options)
    connection.execute(update(_network).where(_network.c.id == network.id).values(**row_from_network(network)))
    return changes


def raise_revisions_on_network(connection: Connection, network_id: str, options: StoreOptions) -> tuple[Change, ...]:
    """Raise the revisions of the load balancers on a network with changed facts, and of the network itself if
    projects share it, so that devices get the facts; record an event if there are any load balancers, and
    return their changes.
    """
    raise_revisions_for_changed_facts(connection, network_id, needed=True)
    # in the order of their ids, as reports lock them
    users = (
        users_of_network_query(network_id)
        .order_by(_load_balancer.c.id)
        .with_for_update(key_share=True, of=_load_balancer)
    )
    ids: list[str] = [row.id for row in connection.execute(users)]
    if not ids:
        return ()
    these: ColumnElement[bool] = is_in_list(_load_balancer.c.id, ids)
    connection.execute(
        update(_load_balancer)
        .where(these, _load_balancer.c.deleted == false())
        .ordered_values(*revision_assignments().items()),
        {"deadline_seconds": options.pending_deadline_seconds, "new_change": new_change_parameter()},
    )
    store_revision_requesters(connection, and_(these, _load_balancer.c.deleted == false()))
    text = f"network {network_id} was changed; load balancers that get it: {len(ids)}"
    record_event(connection, kind="network_changed", text=text)
    return read_changes(connection, these)


def delete_network(connection: Connection, network_id: str) -> None:
    """Delete a network, and record the operator's act. Raises :class:`NotFound`, :class:`Conflict` while
    devices are attached to it.
    """
    if is_network_attached(connection, network_id):
        raise Conflict(f"Network {network_id} is in use: devices are attached to it for load balancers.")
    if connection.execute(delete(_network).where(_network.c.id == network_id)).rowcount == 0:
        raise NotFound("Network", network_id)
    record_operator_action_event(connection, kind="network_deleted", done=f"network {network_id} was deleted")
