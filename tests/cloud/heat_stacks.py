"""Templates of stacks: all ``OS::Octavia::*`` resources, as a tenant and as an operator use them."""

from typing import Any

Template = dict[str, Any]


def tenant(
    *, description: str, limit: int, algorithm: str, weight: int, delay: int, host: str, backends: int = 2
) -> Template:
    """A load balancer with everything below it. The arguments are what an update changes."""
    members = {f"member_{number}": _member(number, weight) for number in range(backends)}
    ours = {
        "root": _octavia("LoadBalancer", vip_subnet="blue", name="heat-root", description=description),
        "listener": _octavia(
            "Listener",
            loadbalancer=_of("root"),
            protocol="HTTP",
            protocol_port=80,
            connection_limit=limit,
            default_pool=_of("pool"),
            allowed_cidrs=["10.0.0.0/8"],
        ),
        "pool": _octavia(
            "Pool",
            loadbalancer=_of("root"),
            protocol="HTTP",
            lb_algorithm=algorithm,
            session_persistence={"type": "APP_COOKIE", "cookie_name": "c"},
        ),
        "api": _octavia("Pool", loadbalancer=_of("root"), protocol="HTTP", lb_algorithm="SOURCE_IP"),
        "monitor": _octavia(
            "HealthMonitor",
            pool=_of("pool"),
            type="HTTP",
            delay=delay,
            timeout=3,
            max_retries=2,
            url_path="/up",
            http_method="HEAD",
            expected_codes="200-204",
        ),
        "policy": _octavia(
            "L7Policy", listener=_of("listener"), action="REDIRECT_TO_POOL", redirect_pool=_of("api"), position=1
        ),
        "rule": _octavia(
            "L7Rule", l7policy=_of("policy"), type="HEADER", key="X-Host", compare_type="EQUAL_TO", value=host
        ),
    }
    shown = {
        "address": _shown("root", "vip_address"),
        "description": _shown("root", "show", "description"),
        "limit": _shown("listener", "show", "connection_limit"),
        "algorithm": _shown("pool", "show", "lb_algorithm"),
        "delay": _shown("monitor", "show", "delay"),
        "target": _shown("policy", "show", "redirect_pool_id"),
        "host": _shown("rule", "show", "value"),
        "weight": _shown("member_0", "show", "weight"),
    }
    return _template(ours | members, shown)


def operator(*, description: str) -> Template:
    """A flavor and an availability zone. ``OS::Octavia::Quota`` works with no server: Heat 27 and the Octavia client
    disagree about the arguments."""
    flavor = _octavia(
        "FlavorProfile", name="heat-fp", provider_name="amphora", flavor_data='{"loadbalancer_topology": "SINGLE"}'
    )
    zone = _octavia(
        "AvailabilityZoneProfile",
        name="heat-zp",
        provider_name="amphora",
        availability_zone_data='{"compute_zone": "nova"}',
    )
    ours = {
        "flavor_profile": flavor,
        "flavor": _octavia("Flavor", name="heat-gold", flavor_profile=_of("flavor_profile"), description=description),
        "zone_profile": zone,
        "zone": _octavia(
            "AvailabilityZone",
            name="heat-zone",
            availability_zone_profile=_of("zone_profile"),
            description=description,
        ),
    }
    return _template(ours, {"flavor": _shown("flavor", "show", "description")})


def _octavia(kind: str, **properties: object) -> dict[str, Any]:
    return {"type": f"OS::Octavia::{kind}", "properties": properties}


def _member(number: int, weight: int) -> dict[str, Any]:
    address = f"10.20.0.{10 + number}"
    return _octavia(
        "PoolMember", pool=_of("pool"), address=address, protocol_port=8080, weight=weight, subnet="blue", tags=["heat"]
    )


def _of(resource: str) -> dict[str, str]:
    return {"get_resource": resource}


def _shown(*path: str) -> dict[str, Any]:
    return {"value": {"get_attr": list(path)}}


def _template(resources: dict[str, Any], outputs: dict[str, Any]) -> Template:
    return {"heat_template_version": "2018-08-31", "resources": resources, "outputs": outputs}
