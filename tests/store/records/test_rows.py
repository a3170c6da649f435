from typing import Any

import msgspec
import pytest

from evenkeel.core.control.agents import Agent
from evenkeel.core.control.environments import Environment
from evenkeel.core.control.events import Event
from evenkeel.core.control.shards import Shard
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    RateLimitPolicy,
    SessionPersistence,
    Subnet,
)
from evenkeel.store.records import rows
from tests.store.builders import l7policy, l7rule, listener, load_balancer, member, monitor, pool

DERIVED = {
    LoadBalancer: {"vip", "listener_ids", "pool_ids"},
    Listener: {"l7policy_ids", "rate_limit_policy_ids"},
    Pool: {"listener_ids", "l7_listener_ids", "member_ids", "health_monitor_id"},
    L7Policy: {"rule_ids"},
    RateLimitPolicy: {"rule_ids"},
    Agent: {
        "alive",
        "acting_shards",
        "home_shards",
        "load_balancers",
        "handing_over",
        "away_shards",
        "unserved_shards",
        "fit",
        "successors",
        "waiting_blocker",
        "away_blocker",
        "reschedule",
        "failback",
        "halted_reason",
    },
}
VIP_COLUMNS = {"vip_address", "vip_subnet_id", "vip_network_id", "vip_port_id"}
READ = {cls: kind.columns for cls, kind in rows.KINDS.items()} | {
    Environment: rows.ENVIRONMENT_COLUMNS,
    Shard: rows.SHARD_COLUMNS,
    Subnet: rows.SUBNET_COLUMNS,
    Event: rows.EVENT_COLUMNS,
    Agent: rows.AGENT_COLUMNS,
}


@pytest.mark.parametrize("cls", READ, ids=lambda cls: cls.__name__)
def test_every_attribute_is_a_column_or_derived(cls: Any) -> None:
    columns = {column.name for column in READ[cls]} - VIP_COLUMNS

    assert columns == set(cls.__struct_fields__) - DERIVED.get(cls, set())


@pytest.mark.parametrize(
    "value",
    [
        load_balancer(tags=("a", "ü"), revision=5, deleted=True, status_reason="why", shard_id="s", updated_at=1.5),
        listener(
            insert_headers={"X-Forwarded-For": "true"},
            default_pool_id="p",
            timeout_tcp_inspect=7,
            allowed_cidrs=("::/0",),
            protocol="TERMINATED_HTTPS",
            default_tls_container_ref="https://keys.example/1",
            sni_container_refs=("a", "b"),
            client_authentication="MANDATORY",
            tls_versions=("TLSv1.2", "TLSv1.3"),
            alpn_protocols=("h2",),
            hsts_max_age=0,
            hsts_preload=True,
        ),
        pool(description="d", tags=("x",)),
        pool(
            protocol="UDP",
            session_persistence=SessionPersistence(type="SOURCE_IP", persistence_granularity="255.0.0.0"),
            tls_enabled=True,
            crl_container_ref="c",
            tls_ciphers="A:B",
            alpn_protocols=("http/1.1",),
        ),
        member(vnic_type="direct", weight=0, backup=True, subnet_id="s", monitor_address="10.0.0.1", monitor_port=1),
        monitor(http_version=1.1, domain_name="x.example", expected_codes="200-204", max_retries_down=9),
        l7policy(position=7, redirect_url="https://x.example/", redirect_http_code=308, description="d"),
        l7rule(key="X-A", invert=True, tags=("x",), deleted=True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_survives_the_way_to_its_row_and_back(value: Any) -> None:
    kind = rows.KINDS[type(value)]
    row = rows.row_from_resource(value)

    assert kind.build([row[column.name] for column in kind.columns]) == value
    assert set(row) <= set(kind.table.c.keys())
    assert row["live_key"] == (value.id if value.deleted else "")


def test_no_two_attributes_are_mixed_up() -> None:
    """Positional building is easy to get wrong where types agree: every attribute gets a value of its own."""
    for cls in (HealthMonitor, L7Policy, L7Rule, Listener, Member, Pool):
        kind = rows.KINDS[cls]
        texts = {column.name: f"{column.name}!" for column in kind.columns if str(column.type).startswith("VARCHAR")}
        statuses = {"provisioning_status": "ACTIVE", "operating_status": "ONLINE"}
        numbers = {column.name: number for number, column in enumerate(kind.columns)}
        lists = rows.JSON_FIELDS - {"insert_headers", "session_persistence"}
        row = numbers | texts | statuses | dict.fromkeys(lists, "[]")
        row |= {"insert_headers": "{}", "session_persistence": None, "health_monitor_id": None}

        built = msgspec.structs.asdict(kind.build([row[column.name] for column in kind.columns]))

        below = ("l7policy_ids", "rate_limit_policy_ids", "rule_ids", "listener_ids", "l7_listener_ids", "member_ids")
        given = row | dict.fromkeys((*lists, *below), ()) | {"insert_headers": {}}
        assert {name: built[name] for name in built} == {name: given[name] for name in built}
