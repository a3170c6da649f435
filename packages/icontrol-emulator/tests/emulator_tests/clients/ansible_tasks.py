"""What Ansible's modules are made to do: `(module, arguments)`, in order."""

from __future__ import annotations

from typing import Any

Task = tuple[str, dict[str, Any]]

_P = {"partition": "a1"}

NETWORK: list[Task] = [
    ("bigip_vlan", {"name": "net1", "tag": 2345, "tagged_interfaces": ["1.1"], "mtu": 1450}),
    ("bigip_vlan", {"name": "net2", "tag": 2346, **_P}),
    ("bigip_selfip", {"name": "self1", "address": "10.10.10.5", "netmask": "255.255.255.0", "vlan": "net1",
                      "allow_service": ["tcp:443"]}),
    ("bigip_routedomain", {"name": "rd7", "id": 7, "vlans": ["net2"], **_P}),
    ("bigip_selfip", {"name": "self7", "address": "10.20.0.5", "netmask": "255.255.255.0", "vlan": "net2",
                      "route_domain": 7, **_P}),
    ("bigip_static_route", {"name": "r1", "destination": "10.99.0.0", "netmask": "255.255.0.0",
                            "gateway_address": "10.10.10.1"}),
    ("bigip_tunnel", {"name": "t1", "local_address": "10.10.10.5", "remote_address": "10.10.10.9", "profile":
                      "/Common/vxlan", "key": 77}),
    ("bigip_trunk", {"name": "trunk1", "interfaces": ["1.2", "1.3"], "lacp_enabled": True}),
    ("bigip_interface", {"name": "1.1", "description": "uplink"}),
    ("bigip_network_globals", {"stp": {"max_hops": 21}, "multicast": {"max_pending_routes": 257}}),
    ("bigip_dns_resolver", {"name": "resolver1", "cache_size": 6000000}),
    ("bigip_ipsec_policy", {"name": "policy1", "mode": "tunnel", "tunnel_local_address": "1.1.1.1",
                            "tunnel_remote_address": "2.2.2.2", "protocol": "esp"}),
    ("bigip_traffic_selector", {"name": "selector1", "destination_address": "1.1.1.1", "source_address": "2.2.2.2",
                                "ipsec_policy": "policy1", "order": 1}),
    ("bigip_ike_peer", {"name": "ike1", "remote_address": "1.2.3.4", "version": ["v1"]}),
    ("bigip_timer_policy", {"name": "timer1", "rules": [{"name": "r", "protocol": "tcp", "idle_timeout": "200",
                                                         "destination_ports": ["443"]}]}),
    ("bigip_service_policy", {"name": "sp1", "timer_policy": "timer1"}),
]  # fmt: skip

MONITORS: list[Task] = [
    ("bigip_monitor_http", {"name": "m-http", "send": "GET /up HTTP/1.0\\r\\n\\r\\n", "receive": "OK", **_P}),
    ("bigip_monitor_https", {"name": "m-https", "interval": 7, "timeout": 22, **_P}),
    ("bigip_monitor_tcp", {"name": "m-tcp", "port": 81, "ip": "10.1.1.1", **_P}),
    ("bigip_monitor_tcp_half_open", {"name": "m-half", "interval": 9, "timeout": 28, **_P}),
    ("bigip_monitor_tcp_echo", {"name": "m-echo", **_P}),
    ("bigip_monitor_udp", {"name": "m-udp", "send": "x", "receive": "y", **_P}),
    ("bigip_monitor_icmp", {"name": "m-icmp", **_P}),
    ("bigip_monitor_gateway_icmp", {"name": "m-gateway", **_P}),
    ("bigip_monitor_dns", {"name": "m-dns", "query_name": "localhost", "query_type": "aaaa", **_P}),
    ("bigip_monitor_ftp", {"name": "m-ftp", "interval": 11, "timeout": 34, **_P}),
    ("bigip_monitor_ldap", {"name": "m-ldap", "base": "dc=x", **_P}),
    ("bigip_monitor_mysql", {"name": "m-mysql", "database": "d", **_P}),
    ("bigip_monitor_oracle", {"name": "m-oracle", **_P}),
    ("bigip_monitor_smtp", {"name": "m-smtp", "domain": "x.org", **_P}),
    ("bigip_monitor_snmp_dca", {"name": "m-snmp", "community": "c", **_P}),
    ("bigip_monitor_external", {"name": "m-external", "variables": {"a": "b"}}),
]

PROFILES: list[Task] = [
    ("bigip_profile_tcp", {"name": "f-tcp", "parent": "/Common/tcp", "idle_timeout": 900, "nagle": "auto", **_P}),
    ("bigip_profile_udp", {"name": "f-udp", "idle_timeout": "90", **_P}),
    ("bigip_profile_fastl4", {"name": "f-l4", "idle_timeout": "90", **_P}),
    ("bigip_profile_http", {"name": "f-http", "insert_xforwarded_for": True, "hsts_mode": True, **_P}),
    ("bigip_profile_http2", {"name": "f-http2", "streams": 20, **_P}),
    ("bigip_profile_http_compression", {"name": "f-gzip", "buffer_size": 5000, **_P}),
    ("bigip_profile_oneconnect", {"name": "f-one", "maximum_size": 100, **_P}),
    ("bigip_profile_dns", {"name": "f-dns", "enable_dns_express": False, **_P}),
    ("bigip_profile_ftp", {"name": "f-ftp", "port": 2020, **_P}),
    ("bigip_profile_sip", {"name": "f-sip", "max_size": 60000, **_P}),
    (
        "bigip_profile_client_ssl",
        {"name": "f-client", "ciphers": "DEFAULT:!3DES", "options": ["no-sslv3", "no-tlsv1.3"], **_P},
    ),
    ("bigip_profile_server_ssl", {"name": "f-server", "server_name": "a.example.org", **_P}),
    ("bigip_profile_persistence_cookie", {"name": "c-cookie", "parent": "/Common/cookie", "cookie_name": "own", **_P}),
    ("bigip_profile_persistence_src_addr", {"name": "c-source", "entry_timeout": "99", **_P}),
    ("bigip_profile_persistence_universal", {"name": "c-universal", "timeout": "99", **_P}),
]

TRAFFIC: list[Task] = [
    ("bigip_node", {"name": "n1", "host": "10.30.0.1", "description": "one", **_P}),
    ("bigip_node", {"name": "n2", "host": "10.30.0.2", "monitors": ["/Common/icmp"], **_P}),
    ("bigip_pool", {"name": "p", "lb_method": "ratio-member", "monitors": ["/a1/m-http", "/Common/tcp"], **_P}),
    ("bigip_pool_member", {"pool": "p", "name": "n1", "host": "10.30.0.1", "port": 80, "ratio": 3, **_P}),
    ("bigip_pool_member", {"pool": "p", "address": "10.30.0.3", "port": 81, "priority_group": 2, **_P}),
    ("bigip_snat_translation", {"name": "s1", "address": "10.40.0.1", **_P}),
    ("bigip_snat_pool", {"name": "snat", "members": ["10.40.0.1", "10.40.0.2"], **_P}),
    ("bigip_irule", {"name": "rule", "module": "ltm", "content": "when HTTP_REQUEST {\n  HTTP::redirect https://x\n}",
                     **_P}),
    ("bigip_data_group", {"name": "dg", "type": "string", "internal": True, "records": [
        {"key": "a", "value": "1"}, {"key": "b", "value": "2"}], **_P}),
    ("bigip_data_group", {"name": "dga", "type": "address", "internal": True, "records": [
        {"key": "10.0.0.0/8", "value": "x"}], **_P}),
    ("bigip_policy", {"name": "lp", "strategy": "first", "state": "present", **_P}),
    ("bigip_policy_rule", {"policy": "lp", "name": "one", "conditions": [
        {"type": "http_uri", "path_begins_with_any": ["/ABC"]}], "actions": [{"type": "forward", "pool": "p"}], **_P}),
    ("bigip_virtual_server", {"name": "v", "destination": "10.50.0.1", "port": 443, "pool": "p", "snat": "/a1/snat",
                              "profiles": ["/a1/f-http", "/a1/f-tcp", {"name": "/a1/f-client", "context":
                              "client-side"}],
                              "irules": ["rule"], "policies": ["lp"], "default_persistence_profile": "c-source",
                              "fallback_persistence_profile": "", **_P}),
    ("bigip_virtual_server", {"name": "l4", "type": "performance-l4", "destination": "10.50.0.2", "port": 80,
                              "profiles": ["/a1/f-l4"], "enabled_vlans": ["/Common/net1"], **_P}),
    ("bigip_virtual_address", {"name": "10.50.0.1", "address": "10.50.0.1", "icmp_echo": "disabled", **_P}),
    ("bigip_cgnat_lsn_pool", {"name": "lsn", "client_conn_limit": 100, **_P}),
    ("bigip_dns_nameserver", {"name": "dns1", "address": "10.60.0.1", **_P}),
    ("bigip_dns_cache_resolver", {"name": "cache1", "answer_default_zones": True, **_P}),
    ("bigip_message_routing_protocol", {"name": "mp", "disable_parser": True, **_P}),
    ("bigip_message_routing_transport_config", {"name": "mt", "profiles": ["/a1/mp"], **_P}),
    ("bigip_message_routing_peer", {"name": "mpeer", "pool": "/a1/p", "transport_config": "/a1/mt", **_P}),
    ("bigip_message_routing_route", {"name": "mr", "peers": ["/a1/mpeer"], **_P}),
    ("bigip_message_routing_router", {"name": "mrouter", "max_retries": 2, **_P}),
]  # fmt: skip

SYSTEM: list[Task] = [
    ("bigip_user", {"username_credential": "johnd", "password_credential": "Secret-4711", "full_name": "John",
                    "partition_access": ["all:guest"], "update_password": "on_create"}),
    ("bigip_sys_db", {"key": "ui.advisory.enabled", "value": "true"}),
    ("bigip_sys_global", {"banner_text": "hello", "console_timeout": 600}),
    ("bigip_device_dns", {"name_servers": ["208.67.222.222"], "search": ["lab.local"]}),
    ("bigip_device_ntp", {"ntp_servers": ["0.pool.ntp.org"], "timezone": "Europe/Berlin"}),
    ("bigip_device_httpd", {"max_clients": 20}),
    ("bigip_device_sshd", {"inactivity_timeout": 300, "login": "enabled"}),
    ("bigip_device_ha_group", {"name": "ha1", "active_bonus": 20, "pools": [{"pool_name": "/a1/p", "weight": 30,
                                                                             "minimum_threshold": 1}]}),
    ("bigip_snmp", {"contact": "Joe", "location": "Here", "agent_status_traps": "enabled"}),
    ("bigip_snmp_community", {"name": "own", "community": "c1", "source": "10.1.1.1", "access": "ro", "version":
                              "v1"}),
    ("bigip_snmp_trap", {"name": "trap1", "community": "general", "destination": "1.2.3.4", "network": "management",
                         "port": 9000, "snmp_version": "1"}),
    ("bigip_smtp", {"name": "smtp1", "smtp_server": "1.1.1.1", "local_host_name": "smtp.x.org", "from_address":
                    "no@x.org"}),
    ("bigip_log_destination", {"name": "hsl1", "type": "remote-high-speed-log", "pool": "/a1/p"}),
    ("bigip_log_publisher", {"name": "pub1", "destinations": ["hsl1"]}),
    ("bigip_management_route", {"name": "mroute", "gateway": "1.1.1.1", "network": "10.77.0.0/16"}),
    ("bigip_remote_role", {"name": "ldap_group", "line_order": 1, "attribute_string": "memberOf=x", "assigned_role":
                           "administrator", "partition_access": "all", "terminal_access": "none"}),
    ("bigip_remote_user", {"default_role": "guest"}),
    ("bigip_password_policy", {"min_length": 8, "policy_enforcement": True}),
    ("bigip_device_auth_radius_server", {"name": "rs1", "ip": "1.2.3.4", "secret": "x", "update_secret":
                                         "on_create"}),
    ("bigip_software_update", {"auto_check": False}),
    ("bigip_provision", {"module": "gtm", "level": "nominal"}),
    ("bigip_device_traffic_group", {"name": "tg2", "auto_failback": True, "auto_failback_time": 40, "ha_order":
                                    ["/Common/bigip-1"]}),
    ("bigip_device_group", {"name": "dgroup", "type": "sync-only", "auto_sync": False}),
    ("bigip_cli_alias", {"name": "al", "scope": "shared", "command": "list ltm"}),
    ("bigip_cli_script", {"name": "scr", "content": "proc script::run {} {}"}),
    ("bigip_device_trust", {"peer_server": "192.0.2.12", "peer_hostname": "bigip-2", "peer_user": "admin",
                            "peer_password": "admin"}),
    ("bigip_device_trust", {"peer_server": "192.0.2.12", "peer_hostname": "bigip-2", "state": "absent"}),
]  # fmt: skip

TASKS: list[Task] = [("bigip_partition", {"name": "a1", "description": "own"}), *NETWORK, *MONITORS, *PROFILES,
                     *TRAFFIC, *SYSTEM]  # fmt: skip
