"""Runs in Octavia's environment: reads a load balancer as JSON on each line, answers with the configuration that
Octavia's amphora would have, as JSON. Uses nothing of Even Keel.
"""

import json
import sys

from octavia.common import config, data_models
from octavia.common.jinja.haproxy.combined_listeners import jinja_cfg


def monitor_of(given):
    if given is None:
        return None
    names = (
        "id",
        "type",
        "delay",
        "timeout",
        "http_method",
        "url_path",
        "expected_codes",
        "http_version",
        "domain_name",
    )
    return data_models.HealthMonitor(
        **{name: given[name] for name in names},
        fall_threshold=given["max_retries_down"],
        rise_threshold=given["max_retries"],
        enabled=given["admin_state_up"],
    )


def member_of(given):
    names = ("id", "protocol_port", "weight", "backup", "monitor_address", "monitor_port")
    return data_models.Member(
        **{name: given[name] for name in names}, ip_address=given["address"], enabled=given["admin_state_up"]
    )


def pool_of(given):
    persistence = given["session_persistence"]
    return data_models.Pool(
        **{name: given[name] for name in ("id", "protocol", "lb_algorithm", "tls_enabled", "tls_ciphers")},
        tls_versions=given["tls_versions"] or None,
        alpn_protocols=given["alpn_protocols"] or None,
        enabled=given["admin_state_up"],
        members=[member_of(each) for each in given["members"]],
        health_monitor=monitor_of(given["monitor"]),
        session_persistence=data_models.SessionPersistence(
            type=persistence["type"], cookie_name=persistence["cookie_name"]
        )
        if persistence
        else None,
    )


def rule_of(given):
    names = ("id", "type", "compare_type", "key", "value", "invert")
    return data_models.L7Rule(
        **{name: given[name] for name in names}, enabled=given["admin_state_up"], provisioning_status="ACTIVE"
    )


def policy_of(given, position, pools):
    names = ("id", "action", "redirect_url", "redirect_prefix", "redirect_http_code")
    return data_models.L7Policy(
        **{name: given[name] for name in names},
        redirect_pool=pools.get(given["redirect_pool_id"]),
        position=position,
        enabled=given["admin_state_up"],
        provisioning_status="ACTIVE",
        l7rules=[rule_of(each) for each in given["rules"]],
    )


def listener_of(given, balancer, pools):
    names = (
        *("id", "protocol", "protocol_port", "connection_limit", "insert_headers"),
        *("timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"),
    )
    policies = [policy_of(each, place, pools) for place, each in enumerate(given["l7policies"], 1)]
    used = [pools.get(given["default_pool_id"]), *(each.redirect_pool for each in policies)]
    return data_models.Listener(
        **{name: given[name] for name in names},
        enabled=given["admin_state_up"],
        allowed_cidrs=[data_models.ListenerCidr(cidr=each) for each in given["allowed_cidrs"]],
        default_pool=pools.get(given["default_pool_id"]),
        l7policies=policies,
        pools=list({each.id: each for each in used if each is not None}.values()),
        load_balancer=balancer,
        peer_port=1025,
    )


def configuration(given):
    """The text of haproxy.cfg."""
    balancer = data_models.LoadBalancer(
        id=given["load_balancer_id"],
        project_id=given["project_id"],
        enabled=given["admin_state_up"],
        topology="SINGLE",
        vip=data_models.Vip(ip_address=given["vip"]["address"]),
        additional_vips=[data_models.Vip(ip_address=each["address"]) for each in given["additional_vips"]],
        amphorae=[],
    )
    pools = {each["id"]: pool_of(each) for each in given["pools"]}
    balancer.pools = list(pools.values())
    balancer.listeners = [listener_of(each, balancer, pools) for each in given["listeners"]]
    amphora = data_models.Amphora(id="amphora", status="ALLOCATED")
    templates = jinja_cfg.JinjaTemplater(connection_logging=False)
    return templates.build_config(amphora, balancer.listeners, None, given["haproxy_version"].split("."), None)


def main():
    config.init(["--config-file", "/dev/null"])
    for line in sys.stdin:
        print(json.dumps(configuration(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
