"""What the BIG-IP renderer makes of the API's features; the reasons stand in the modules of ``render/``."""

from evenkeel.core.capabilities import INSERT_HEADERS, Capabilities

CAPABILITIES = Capabilities(
    protocol_pairs={"HTTP": ("HTTP",), "TCP": ("HTTP", "HTTPS", "TCP"), "HTTPS": ("HTTPS", "TCP")},
    lb_algorithms=("ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"),
    # cookies are inserted by the http profile, which only virtual servers of HTTP listeners have
    session_persistence={"SOURCE_IP": ("HTTP", "TCP", "HTTPS"), "HTTP_COOKIE": ("HTTP",)},
    health_monitor_types=("HTTP", "TCP", "PING"),
    insert_headers=INSERT_HEADERS,
    # an http profile has a switch for X-Forwarded-For, and room for one header more
    exclusive_headers=(("X-Forwarded-Port", "X-Forwarded-Proto"),),
    options=(
        "listener.connection_limit",
        "listener.timeout_client_data",
        "listener.timeout_member_data",
        "member.backup",
    ),
    # on the device 0 is "no limit"
    refused_values={"listener.connection_limit": (0,)},
    l7policy_actions=(),
    l7rule_types=(),
    flavor_metadata={},
    availability_zone_metadata={},
)
