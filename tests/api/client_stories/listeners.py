"""Listeners."""

from tests.api.client_stories.step import Step

_TIMEOUTS = (
    "--timeout-client-data 1000 --timeout-member-connect 2000 --timeout-member-data 3000 --timeout-tcp-inspect 40"
)

LISTENERS = (
    Step("create --name listening --vip-subnet-id blue --project p2 --wait", keeps="root"),
    Step("pool create --name listened --protocol HTTP --lb-algorithm ROUND_ROBIN --loadbalancer listening --wait"),
    Step(
        "listener create --name front --description d --protocol HTTP --protocol-port 80 --connection-limit 7 "
        "--default-pool listened --insert-headers X-Forwarded-For=true,X-Forwarded-Port=true --allowed-cidr 10.0.0.0/8 "
        f"--allowed-cidr 192.0.2.0/24 --enable --tag a {_TIMEOUTS} --wait listening",
        {
            "connection_limit": 7,
            "allowed_cidrs": ["10.0.0.0/8", "192.0.2.0/24"],
            "insert_headers": {"X-Forwarded-For": "true", "X-Forwarded-Port": "true"},
            "timeout_client_data": 1000,
            "timeout_member_connect": 2000,
            "timeout_member_data": 3000,
            "timeout_tcp_inspect": 40,
            "provisioning_status": "ACTIVE",
        },
        keeps="front",
    ),
    Step(
        "listener create --name off --protocol TCP --protocol-port 81 --disable --no-tag --wait listening",
        {"admin_state_up": False},
    ),
    Step("listener create --protocol HTTP --protocol-port 80 listening", refused="80"),
    Step("listener list --loadbalancer listening --enable", [{"name": "front", "protocol_port": 80}]),
    Step("listener list --name off --disable --project p2", [{"name": "off"}]),
    Step("listener list --tags a --loadbalancer listening", [{"name": "front"}]),
    Step("listener list --any-tags a,b --loadbalancer listening", [{"name": "front"}]),
    Step("listener list --not-tags a --loadbalancer listening", [{"name": "off"}]),
    Step("listener list --not-any-tags a --loadbalancer listening", [{"name": "off"}]),
    Step(
        "listener set --name front2 --description e --connection-limit 8 --insert-headers X-Forwarded-Proto=true "
        "--allowed-cidr 10.0.0.0/8 --timeout-client-data 1 --timeout-member-connect 2 --timeout-member-data 3 "
        "--timeout-tcp-inspect 4 --disable --tag b --wait front",
    ),
    Step("listener show front2", {"allowed_cidrs": ["10.0.0.0/8"], "timeout_tcp_inspect": 4, "tags": ["a", "b"]}),
    Step("listener set --enable --no-tag --tag c --default-pool listened front2"),
    Step(
        "listener unset --description --connection-limit --insert-headers --allowed-cidrs --timeout-client-data "
        "--timeout-member-connect --timeout-member-data --timeout-tcp-inspect --default-pool --tag c --wait front2",
    ),
    Step(
        "listener show front2",
        {
            "description": "",
            "connection_limit": -1,
            "insert_headers": {},
            "allowed_cidrs": None,
            "default_pool_id": None,
            "timeout_client_data": 50000,
            "timeout_member_connect": 5000,
            "timeout_member_data": 50000,
            "timeout_tcp_inspect": 0,
            "tags": [],
        },
    ),
    Step("listener unset --name --all-tag {front}"),
    Step("listener show {front}", {"name": ""}),
    Step("listener stats show {front}", {"bytes_in": 0, "request_errors": 0, "total_connections": 0}),
    Step("listener delete --wait {front}"),
    Step("listener show {front}", refused="Unable to locate {front} in listeners"),
    Step("delete --cascade --wait listening"),
)
