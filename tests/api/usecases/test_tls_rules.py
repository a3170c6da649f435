"""The rules of TLS as such, whatever is given together."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.api.usecases.tls_rules import (
    LISTENER_TLS,
    POOL_TLS,
    SETTINGS,
    check_listener_tls,
    check_pool_tls,
    fill_tls_defaults,
    uses_tls,
)
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import POOL_PROTOCOLS_OF_LISTENER, Listener, Pool
from evenkeel.core.tls.tls import UNRESTRICTED_TLS

IDS = {"id": "x", "load_balancer_id": "lb", "project_id": "p"}
refs = st.none() | st.just("ref")
settings = {
    "tls_ciphers": st.none() | st.just("AES128-SHA:AES256-SHA"),
    "tls_versions": st.sampled_from([(), ("TLSv1.3",)]),
    "alpn_protocols": st.sampled_from([(), ("h2",)]),
}
listeners = st.builds(
    Listener,
    **{name: st.just(value) for name, value in IDS.items()},
    protocol=st.sampled_from(sorted(POOL_PROTOCOLS_OF_LISTENER) + ["TERMINATED_HTTPS"] * 6),
    protocol_port=st.just(1),
    default_tls_container_ref=refs,
    sni_container_refs=st.sampled_from([(), ("a",)]),
    client_ca_tls_container_ref=refs,
    client_authentication=st.sampled_from(["NONE", "OPTIONAL", "MANDATORY"]),
    client_crl_container_ref=refs,
    hsts_max_age=st.none() | st.just(0),
    hsts_include_subdomains=st.booleans(),
    hsts_preload=st.booleans(),
    **settings,
)
pools = st.builds(
    Pool,
    **{name: st.just(value) for name, value in IDS.items()},
    protocol=st.sampled_from(["HTTP", "TCP", "UDP"]),
    lb_algorithm=st.just("ROUND_ROBIN"),
    tls_enabled=st.booleans(),
    tls_container_ref=refs,
    ca_tls_container_ref=refs,
    crl_container_ref=refs,
    **settings,
)


def accepted(check: Any, row: Any) -> bool:
    try:
        check(row)
    except Invalid as error:
        assert any(name in str(error) for name in (*LISTENER_TLS, *POOL_TLS)), error
        return False
    return True


@given(listeners)
def test_a_listener_is_taken_exactly_if_all_of_it_fits_together(row: Listener) -> None:
    nothing = replace(row, **{name: LISTENER_TLS[name] for name in LISTENER_TLS.keys() - SETTINGS.keys()}) == row
    whole = (
        row.protocol == "TERMINATED_HTTPS"
        and (row.default_tls_container_ref is not None or row.sni_container_refs != ())
        and (
            row.client_ca_tls_container_ref is not None
            or (row.client_authentication == "NONE" and row.client_crl_container_ref is None)
        )
        and (row.hsts_max_age is not None or not (row.hsts_include_subdomains or row.hsts_preload))
    )
    assert accepted(check_listener_tls, row) == (whole or (nothing and row.protocol != "TERMINATED_HTTPS"))


@given(pools)
def test_a_pool_is_taken_exactly_if_all_of_it_fits_together(row: Pool) -> None:
    whole = row.crl_container_ref is None or row.ca_tls_container_ref is not None
    assert accepted(check_pool_tls, row) == (whole and not (row.tls_enabled and row.protocol == "UDP"))


@given(listeners | pools)
def test_defaults_are_set_where_tls_is_used_and_nowhere_else(row: Any) -> None:
    after = fill_tls_defaults(row, UNRESTRICTED_TLS)
    assert fill_tls_defaults(after, UNRESTRICTED_TLS) == after
    for name, nothing in SETTINGS.items():
        given_, found = getattr(row, name), getattr(after, name)
        assert found == (given_ if given_ != nothing or not uses_tls(row) else found)
        assert not uses_tls(row) or found != nothing
    assert replace(after, **{name: getattr(row, name) for name in SETTINGS}) == row
