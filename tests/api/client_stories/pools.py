"""Pools, their members and their health monitors."""

from tests.api.client_stories.step import Step

POOLS = (
    Step("create --name pooling --vip-subnet-id blue --wait"),
    Step("listener create --name to-pool --protocol TCP --protocol-port 80 --wait pooling"),
    Step(
        "pool create --name servers --description d --protocol PROXY --lb-algorithm LEAST_CONNECTIONS "
        "--listener to-pool --session-persistence type=SOURCE_IP --enable --tag a --wait",
        {"lb_algorithm": "LEAST_CONNECTIONS", "session_persistence": {"type": "SOURCE_IP", "cookie_name": None}},
    ),
    Step(
        "pool create --name spare --protocol HTTP --lb-algorithm SOURCE_IP_PORT --loadbalancer pooling --disable "
        "--no-tag --wait",
        {"admin_state_up": False},
    ),
    Step("pool list --loadbalancer pooling", [{"name": "servers"}, {"name": "spare"}]),
    Step("pool list --loadbalancer pooling --tags a", [{"name": "servers"}]),
    Step("pool list --loadbalancer pooling --any-tags a,b", [{"name": "servers"}]),
    Step("pool list --loadbalancer pooling --not-tags a", [{"name": "spare"}]),
    Step("pool list --loadbalancer pooling --not-any-tags a", [{"name": "spare"}]),
    Step(
        "pool set --name servers2 --description e --lb-algorithm ROUND_ROBIN --session-persistence type=SOURCE_IP "
        "--disable --tag b --wait servers"
    ),
    Step("pool show servers2", {"lb_algorithm": "ROUND_ROBIN", "admin_state_up": False, "description": "e"}),
    Step("pool set --enable --no-tag --tag c servers2"),
    Step("pool unset --description --session-persistence --tag c --wait servers2"),
    Step("pool show servers2", {"description": "", "session_persistence": None, "tags": []}),
    Step("pool set --name servers3 --tag c servers2"),
    Step("pool unset --all-tag servers3"),
    Step("pool show servers3", {"tags": []}, keeps="pool"),
    Step("pool unset --name {pool}"),
    Step("pool show {pool}", {"name": ""}),
    Step("pool delete --wait spare"),
    Step("pool show spare", refused="Unable to locate spare in pools"),
    Step("delete --cascade --wait pooling"),
)

MEMBERS = (
    Step("create --name with-members --vip-subnet-id blue --wait"),
    Step("pool create --name m --protocol HTTP --lb-algorithm ROUND_ROBIN --loadbalancer with-members --wait"),
    Step(
        "member create --name one --address 10.20.0.1 --protocol-port 80 --subnet-id blue --weight 5 --enable-backup "
        "--monitor-address 10.20.0.9 --monitor-port 81 --enable --tag a --wait m",
        {"weight": 5, "backup": True, "monitor_address": "10.20.0.9", "monitor_port": 81},
        keeps="one",
    ),
    Step(
        "member create --name two --address 10.20.0.2 --protocol-port 80 --disable-backup --disable --no-tag --wait m",
        {"backup": False, "admin_state_up": False},
    ),
    Step("member create --address 10.20.0.1 --protocol-port 80 m", refused="10.20.0.1"),
    Step("member list m", [{"name": "one", "address": "10.20.0.1"}, {"name": "two"}]),
    Step("member list --tags a m", [{"name": "one"}]),
    Step("member list --any-tags a,b m", [{"name": "one"}]),
    Step("member list --not-tags a m", [{"name": "two"}]),
    Step("member list --not-any-tags a m", [{"name": "two"}]),
    Step(
        "member set --name first --weight 6 --disable-backup --monitor-address 10.20.0.8 --monitor-port 82 --disable "
        "--tag b --wait m one"
    ),
    Step("member show m first", {"weight": 6, "backup": False, "monitor_port": 82, "admin_state_up": False}),
    Step("member set --enable --enable-backup --no-tag --tag c m first"),
    Step("member unset --backup --monitor-address --monitor-port --weight --tag c --wait m first"),
    Step("member show m first", {"weight": 1, "backup": False, "monitor_address": None, "monitor_port": None}),
    Step("member unset --name --all-tag m first"),
    Step("member show m {one}", {"name": ""}),
    Step("member delete --wait m {one}"),
    Step("member list m", [{"name": "two"}]),
    Step("delete --cascade --wait with-members"),
)

MONITORS = (
    Step("create --name watched --vip-subnet-id blue --wait"),
    Step("pool create --name w --protocol HTTP --lb-algorithm ROUND_ROBIN --loadbalancer watched --wait"),
    Step(
        "healthmonitor create --name look --type HTTP --delay 5 --timeout 3 --max-retries 2 --max-retries-down 4 "
        "--http-method HEAD --http-version 1.1 --domain-name a.example --url-path /up --expected-codes 200-204 "
        "--enable --tag a --wait w",
        {"http_method": "HEAD", "http_version": 1.1, "domain_name": "a.example", "expected_codes": "200-204"},
    ),
    Step("healthmonitor create --type TCP --delay 5 --timeout 3 --max-retries 2 w", refused="health monitor"),
    Step("healthmonitor list --tags a", [{"name": "look", "type": "HTTP"}]),
    Step("healthmonitor list --any-tags a,b", [{"name": "look"}]),
    Step("healthmonitor list --not-tags a --any-tags a", []),
    Step("healthmonitor list --not-any-tags a --any-tags a", []),
    Step(
        "healthmonitor set --name look2 --delay 6 --timeout 4 --max-retries 3 --max-retries-down 5 --http-method GET "
        "--http-version 1.1 --domain-name b.example --url-path /b --expected-codes 200 --disable --tag b --wait look"
    ),
    Step("healthmonitor show look2", {"delay": 6, "url_path": "/b", "domain_name": "b.example", "max_retries": 3}),
    Step("healthmonitor set --enable --no-tag --tag c look2"),
    Step(
        "healthmonitor unset --domain-name --expected-codes --http-method --http-version --max-retries-down --url-path "
        "--tag c --wait look2"
    ),
    Step(
        "healthmonitor show look2",
        {"domain_name": None, "expected_codes": "200", "http_method": "GET", "max_retries_down": 3, "url_path": "/"},
        keeps="monitor",
    ),
    Step("healthmonitor unset --name --all-tag look2"),
    Step("healthmonitor show {monitor}", {"name": "", "tags": []}),
    Step("healthmonitor delete --wait {monitor}"),
    Step("healthmonitor show {monitor}", refused="Unable to locate {monitor} in healthmonitors"),
    Step("healthmonitor create --type PING --delay 5 --timeout 3 --max-retries 2 --disable --no-tag --wait w"),
    Step("delete --cascade --wait watched"),
)
