"""What the HAProxy renderer makes of the API's features. UDP and SCTP are nothing that HAProxy balances.

PROMETHEUS listeners are not rendered: whether an HAProxy was built with the exporter is known on its host only, and it
tells of its whole process, which is every load balancer of the tenant.
"""

from evenkeel.core.capabilities import ADDITIONAL_VIPS, INSERT_HEADERS, Capabilities

CAPABILITIES = Capabilities(
    protocol_pairs={
        "HTTP": ("HTTP", "PROXY", "PROXYV2"),
        "TCP": ("HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"),
        "HTTPS": ("HTTPS", "PROXY", "PROXYV2", "TCP"),
    },
    lb_algorithms=("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP", "SOURCE_IP_PORT"),
    # cookies are read and written in mode http, which only HTTP listeners have
    session_persistence={"SOURCE_IP": ("HTTP", "TCP", "HTTPS"), "HTTP_COOKIE": ("HTTP",), "APP_COOKIE": ("HTTP",)},
    health_monitor_types=("HTTP", "HTTPS", "TCP", "TLS-HELLO", "PING"),
    insert_headers=INSERT_HEADERS,
    options=(
        ADDITIONAL_VIPS,
        "listener.allowed_cidrs",
        "listener.connection_limit",
        "listener.timeout_client_data",
        "listener.timeout_member_connect",
        "listener.timeout_member_data",
        "listener.timeout_tcp_inspect",
        "member.backup",
        "member.monitor_address",
        "member.monitor_port",
    ),
    health_monitor_ranges={"delay": (1, 86_400), "timeout": (1, 86_400)},
    # there a limit of 0 is "the process's own limit"
    refused_values={"listener.connection_limit": (0,)},
    l7policy_actions=("REJECT", "REDIRECT_TO_POOL", "REDIRECT_TO_URL", "REDIRECT_PREFIX"),
    # what rules of certificates look at is there only where TLS ends at the listener
    l7rule_types=("HOST_NAME", "PATH", "FILE_TYPE", "HEADER", "COOKIE"),
    flavor_metadata={},
    availability_zone_metadata={},
)
