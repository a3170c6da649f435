"""Builds members and pools, the bulk of a status tree, with only the attributes that the tree shows. Each
kind has a function of its own, which takes a quarter of the time of a general one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from evenkeel.core.resources.model import Member, Pool
from evenkeel.store.records.rows import MEMBER, OPERATING_STATUSES, POOL, PROVISIONING_STATUSES, Columns, Kind


class StatusRows(NamedTuple):
    """Columns of a kind of objects that status trees read, and the function that builds an object from a row
    of them. Attributes without a column have their defaults in the object.
    """

    columns: Columns
    build: Callable[[Any], Any]


def _status_rows(kind: Kind, names: str, build: Callable[..., Any]) -> StatusRows:
    return StatusRows(tuple(kind.table.c[name] for name in names.split()), lambda row: build(*row))


def _build_member(
    id_: str,
    name: str,
    provisioning: str,
    operating: str,
    enabled: bool,
    project_id: Any,
    load_balancer_id: Any,
    pool_id: str,
    address: str,
    port: int,
    given_address: str | None,
) -> Member:
    return Member(
        id=id_,
        name=name,
        provisioning_status=PROVISIONING_STATUSES[provisioning],
        operating_status=OPERATING_STATUSES[operating],
        admin_state_up=enabled,
        project_id=project_id,
        load_balancer_id=load_balancer_id,
        pool_id=pool_id,
        address=address,
        protocol_port=port,
        given_address=given_address,
    )


def _build_pool(
    id_: str,
    name: str,
    provisioning: str,
    operating: str,
    enabled: bool,
    project_id: Any,
    load_balancer_id: Any,
    protocol: Any,
    algorithm: Any,
) -> Pool:
    return Pool(
        id=id_,
        name=name,
        provisioning_status=PROVISIONING_STATUSES[provisioning],
        operating_status=OPERATING_STATUSES[operating],
        admin_state_up=enabled,
        project_id=project_id,
        load_balancer_id=load_balancer_id,
        protocol=protocol,
        lb_algorithm=algorithm,
    )


_COMMON_COLUMNS = "id name provisioning_status operating_status admin_state_up project_id load_balancer_id"

STATUS_ROWS: dict[Kind, StatusRows] = {
    MEMBER: _status_rows(MEMBER, f"{_COMMON_COLUMNS} pool_id address protocol_port given_address", _build_member),
    POOL: _status_rows(POOL, f"{_COMMON_COLUMNS} protocol lb_algorithm", _build_pool),
}
"""Kinds of which a status tree reads some attributes; it reads the others whole."""
