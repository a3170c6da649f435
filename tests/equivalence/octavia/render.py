"""Runs in Octavia's environment: ``render.py FOLDER`` reads what references name as JSON on its first line, a load
balancer on each other one, and answers with the configuration that Octavia's amphora would have, as JSON. Files that it
names are put below FOLDER by Octavia's own driver. Uses nothing of Even Keel.
"""

import json
import sys
import types
from pathlib import Path

# ruff: noqa: E402
sys.modules["pyroute2"] = types.ModuleType("pyroute2")  # imported by what only an amphora runs, and not installed

from octavia.amphorae.drivers.haproxy import rest_api_driver
from octavia.certificates.common import local
from octavia.common import config, data_models
from octavia.common.jinja.haproxy.combined_listeners import jinja_cfg

API_VERSION = "1.0"


class KeyManager:
    """What references name, for Octavia's driver."""

    def __init__(self, named):
        self._named = named

    def get_cert(self, _context, reference, check_only):
        one = self._named[reference]
        return local.LocalCert(one["certificates"][0], one["private_key"], one["certificates"][1:])

    def get_secret(self, _context, reference):
        one = self._named[reference]
        return one["revocation_list"] or "".join(one["certificates"])


class Amphora:
    """Keeps uploaded files in a folder."""

    def __init__(self, folder):
        self._folder = folder

    def get_cert_md5sum(self, _amphora, _balancer, _name, ignore):
        return None

    def upload_cert_pem(self, _amphora, balancer_id, name, pem):
        (self._folder / balancer_id).mkdir(parents=True, exist_ok=True)
        (self._folder / balancer_id / name).write_bytes(pem)


class Driver(rest_api_driver.HaproxyAmphoraLoadBalancerDriver):
    """Octavia's, with its key manager and its amphora replaced."""

    def __init__(self, named, folder):
        self.clients = {API_VERSION: Amphora(folder)}
        self.cert_manager = KeyManager(named)

    def uploaded(self, listener, amphora):
        """What templates need to know of a listener's certificates, as the driver's ``update_amphora_listeners`` has
        it."""
        balancer_id = listener.load_balancer.id
        found = {
            listener.tls_certificate_id: self._process_tls_certificates(listener, amphora, balancer_id)["tls_cert"]
        }
        for reference in (listener.client_ca_tls_certificate_id, listener.client_crl_container_id):
            found[reference] = self._process_secret(listener, reference, amphora, balancer_id)
        return found | self._process_listener_pool_certs(listener, amphora, balancer_id)


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
        tls_certificate_id=given["tls_container_ref"],
        ca_tls_certificate_id=given["ca_tls_container_ref"],
        crl_container_id=given["crl_container_ref"],
        project_id="project",
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
        *("client_authentication", "tls_ciphers", "hsts_max_age", "hsts_include_subdomains", "hsts_preload"),
    )
    policies = [policy_of(each, place, pools) for place, each in enumerate(given["l7policies"], 1)]
    used = [pools.get(given["default_pool_id"]), *(each.redirect_pool for each in policies)]
    return data_models.Listener(
        **{name: given[name] for name in names},
        project_id="project",
        tls_certificate_id=given["default_tls_container_ref"],
        sni_containers=[data_models.SNI(tls_container_id=each) for each in given["sni_container_refs"]],
        client_ca_tls_certificate_id=given["client_ca_tls_container_ref"],
        client_crl_container_id=given["client_crl_container_ref"],
        tls_versions=given["tls_versions"] or None,
        alpn_protocols=given["alpn_protocols"] or None,
        enabled=given["admin_state_up"],
        allowed_cidrs=[data_models.ListenerCidr(cidr=each) for each in given["allowed_cidrs"]],
        default_pool=pools.get(given["default_pool_id"]),
        l7policies=policies,
        pools=list({each.id: each for each in used if each is not None}.values()),
        load_balancer=balancer,
        peer_port=1025,
    )


def configuration(given, driver, folder):
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
    amphora.api_version = API_VERSION
    certificates = {}
    for listener in balancer.listeners:
        certificates |= driver.uploaded(listener, amphora)
    templates = jinja_cfg.JinjaTemplater(base_crt_dir=str(folder), connection_logging=False)
    version = given["haproxy_version"].split(".")
    return templates.build_config(amphora, balancer.listeners, certificates, version, None)


def main():
    folder = Path(sys.argv[1])
    config.init(["--config-file", "/dev/null"])
    config.cfg.CONF.set_override("base_cert_dir", str(folder), group="haproxy_amphora")
    driver = Driver(json.loads(sys.stdin.readline()), folder)
    for line in sys.stdin:
        print(json.dumps(configuration(json.loads(line), driver, folder)), flush=True)


if __name__ == "__main__":
    main()
