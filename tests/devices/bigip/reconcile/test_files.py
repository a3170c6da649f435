"""Which files are made, kept and removed, against a model of a device that keeps what it is told."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import (
    CERTIFICATE_FILE,
    CLIENT_SSL,
    FILES,
    KEY_FILE,
    Key,
    Observed,
    ObservedObject,
    RenderedObjects,
    Verb,
)
from evenkeel.devices.bigip.reconcile.files import add_files, referenced_file_names
from evenkeel.devices.bigip.reconcile.plan import NO_OWNER, Plan, plan_operations, predict_observed
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.bigip.certificates import authority, certificate, revocation_list, tls_listener, tls_service
from tests.devices.services import gone, pool, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
PARTITION = "dev_a3f1c2"
A, B, C = (certificate(f"{letter}.example") for letter in "abc")
BARE = certificate("bare.example", chain=False)
CA, CRL = authority(), revocation_list()
EVERY = (A, B, C, BARE, CA, CRL)


def rendered(
    observed: Observed, *services: ServiceDefinition, brought: tuple[CertificateContent, ...] = EVERY
) -> list[RenderedObjects]:
    contents = {content.sha256: content for content in brought}
    return [add_files(render_load_balancer(one, NAMES), observed, contents, NAMES) for one in services]


def planned(
    observed: Observed,
    *services: ServiceDefinition,
    brought: tuple[CertificateContent, ...] = EVERY,
    complete: bool = False,
) -> Plan:
    found = rendered(observed, *services, brought=brought)
    return plan_operations(observed, found, partition=PARTITION, names=NAMES, complete=complete)


def made(*services: ServiceDefinition) -> Observed:
    return predict_observed({}, planned({}, *services).operations)


def files(observed: Observed) -> set[str]:
    return {key.name for key in observed if key.type in FILES}


def named(content: CertificateContent, *suffixes: str) -> set[str]:
    return {f"dev_{content.sha256}{suffix}" for suffix in suffixes}


def whole(content: CertificateContent) -> set[str]:
    return named(content, ".crt", ".key", "-chain.crt")


def test_certificate_key_and_intermediates_come_with_the_profile_and_before_it() -> None:
    steps = planned({}, tls_service(names={"ref-a": A})).operations
    made_files = [step for step in steps if step.key.type in FILES]
    assert {step.key.name for step in made_files} == whole(A)
    assert {step.key.type for step in made_files} == {CERTIFICATE_FILE, KEY_FILE}
    contents = {step.key.name: step.content.reveal().decode() for step in made_files if step.content}
    assert contents[f"dev_{A.sha256}.crt"] == A.certificates[0]
    assert contents[f"dev_{A.sha256}-chain.crt"] == A.certificates[1]
    assert "PRIVATE KEY" in contents[f"dev_{A.sha256}.key"]
    order = [step.key.type for step in steps]
    assert max(order.index(kind) for kind in (CERTIFICATE_FILE, KEY_FILE)) < order.index(CLIENT_SSL)
    assert "PRIVATE" not in repr(steps)


def test_a_certificate_without_intermediates_has_no_chain() -> None:
    observed = made(tls_service(names={"ref-a": BARE}))
    assert files(observed) == named(BARE, ".crt", ".key")
    (profile,) = (item for item in observed.values() if item.key.type == CLIENT_SSL)
    assert profile.attributes["certKeyChain"][0]["chain"] == "none"
    # what is held says so, too
    assert not planned(observed, tls_service(names={"ref-a": BARE}), brought=()).operations


def test_certificate_on_the_device_is_not_uploaded_again() -> None:
    definition = tls_service(names={"ref-a": A})
    assert not planned(made(definition), definition, brought=()).operations


def test_load_balancer_with_missing_certificate_stays_unchanged_and_names_it() -> None:
    observed = made(tls_service(names={"ref-a": A}), service(2))
    renewed = tls_service(names={"ref-a": B}, revision=2)
    (waiting, other) = rendered(observed, renewed, service(2, members=4), brought=())
    assert waiting.lacking == (B.sha256,) and "certificate" in waiting.problem and not other.lacking
    todo = plan_operations(observed, [waiting, other], partition=PARTITION, names=NAMES, complete=True)
    assert set(todo.problems) == {"lb-1"}
    assert {step.owner for step in todo.operations} == {"lb-2"}


def test_a_half_that_is_missing_is_brought_again() -> None:
    definition = tls_service(names={"ref-a": A})
    observed = made(definition)
    del observed[Key(type=KEY_FILE, name=f"dev_{A.sha256}.key")]
    (waiting,) = rendered(observed, definition, brought=())
    assert waiting.lacking == (A.sha256,)
    (step,) = planned(observed, definition).operations
    assert (step.verb, step.key.type) == (Verb.CREATE, KEY_FILE)


def test_files_stay_while_another_certificate_of_the_load_balancer_is_missing() -> None:
    observed = made(tls_service(names={"ref-a": A}))
    definition = tls_service(
        names={"ref-a": B, "ref-b": C}, listeners=(tls_listener(sni_container_refs=("ref-b",)),), revision=2
    )
    there = made(tls_service(2, names={"ref-a": B}))
    observed |= {key: item for key, item in there.items() if key.type in FILES}
    todo = planned(observed, definition, brought=(), complete=True)
    assert not todo.operations and set(todo.problems) == {"lb-1"}


def test_a_renewal_goes_with_the_old_files_and_touches_no_virtual_server() -> None:
    observed = made(tls_service(names={"ref-a": A}))
    steps = planned(observed, tls_service(names={"ref-a": B}, revision=2)).operations
    assert {step.key.type for step in steps} == {CERTIFICATE_FILE, KEY_FILE, CLIENT_SSL}
    assert [(step.verb, set(step.body)) for step in steps if step.key.type == CLIENT_SSL] == [
        (Verb.MODIFY, {"certKeyChain"})
    ]
    removed = {step.key.name for step in steps if step.verb is Verb.DELETE}
    assert removed == whole(A) and {step.owner for step in steps if step.verb is Verb.DELETE} == {NO_OWNER}
    assert files(predict_observed(observed, steps)) == whole(B)


def test_files_are_shared_and_go_with_the_last_that_refers_to_them() -> None:
    first, second = (tls_service(number, names={"ref-a": A}) for number in (1, 2))
    todo = planned({}, first, second)
    assert (
        sum(step.key.name == f"dev_{A.sha256}.key" for step in todo.operations_of_owners(frozenset({"lb-1", "lb-2"})))
        == 1
    )
    assert all(
        any(step.key.type == KEY_FILE for step in todo.operations_of_owners(frozenset({one})))
        for one in ("lb-1", "lb-2")
    )
    observed = predict_observed({}, todo.operations_of_owners(frozenset({"lb-1", "lb-2"})))
    observed = predict_observed(observed, planned(observed, gone(1)).operations)
    assert files(observed) == whole(A)
    assert files(predict_observed(observed, planned(observed, gone(2)).operations)) == set()


def test_a_file_that_a_strangers_profile_refers_to_stays_and_so_does_what_has_another_name() -> None:
    observed = made(tls_service(names={"ref-a": A}))
    strange = Key(type=CLIENT_SSL, name="by-hand")
    path = f"/{PARTITION}/dev_{A.sha256}.crt"
    observed[strange] = ObservedObject(key=strange, attributes={"certKeyChain": [{"name": "x", "cert": path}]})
    others = ("site.crt", f"dev_{'0' * 64}", f"other_{'0' * 64}.crt", f"dev_{'0' * 63}.crt", f"dev_x{'0' * 64}.crt")
    for name in others:
        key = Key(type=CERTIFICATE_FILE, name=name)
        observed[key] = ObservedObject(key=key, attributes={})
    result = predict_observed(observed, planned(observed, gone(1), complete=True).operations)
    assert files(result) == {*others, f"dev_{A.sha256}.crt"}


def test_a_content_that_is_something_else_is_a_problem_of_the_load_balancer() -> None:
    definition = tls_service(names={"ref-a": A})
    wrong = {A.sha256: B}
    assert "something else" in add_files(render_load_balancer(definition, NAMES), {}, wrong, NAMES).problem


# -- whatever happens

CONTENTS = {"ref-a": (A, B, BARE), "ref-b": (B, C), "ref-ca": (CA,), "ref-crl": (CRL,)}


@st.composite
def definitions(draw: st.DrawFn, number: int) -> ServiceDefinition:
    names = {reference: draw(st.sampled_from(contents)) for reference, contents in CONTENTS.items()}
    mode: Any = draw(st.sampled_from(["NONE", "OPTIONAL", "MANDATORY"]))
    crl = draw(st.sampled_from([None, "ref-crl"]))
    if draw(st.integers(0, 5)) == 0:
        return gone(number)
    return tls_service(
        number,
        names=names,
        revision=draw(st.integers(1, 3)),
        listeners=(
            tls_listener(
                number,
                default_tls_container_ref=draw(st.sampled_from(["ref-a", "ref-b"])),
                sni_container_refs=draw(st.sampled_from([(), ("ref-b",), ("ref-a", "ref-b")])),
                client_authentication=mode,
                client_ca_tls_container_ref="ref-ca",
                client_crl_container_ref=crl,
                insert_headers=draw(st.sampled_from([{}, {"X-SSL-Client-DN": "true"}])),
            ),
        ),
        pools=(
            pool(number, tls_enabled=draw(st.booleans()), tls_container_ref=draw(st.sampled_from([None, "ref-a"]))),
        ),
    )


tenants = st.tuples(definitions(1), definitions(2), definitions(3))


@settings(max_examples=40, deadline=None)
@given(before=tenants, wanted=tenants, held=st.booleans(), complete=st.booleans())
def test_files_exist_before_they_are_referred_to_and_only_those(
    before: tuple[ServiceDefinition, ...], wanted: tuple[ServiceDefinition, ...], held: bool, complete: bool
) -> None:
    observed = made(*before)
    todo = planned(observed, *wanted, complete=complete, brought=() if held else EVERY)
    for step in todo.operations:
        observed = predict_observed(observed, [step])
        if step.verb is not Verb.DELETE:  # nothing is named before it is there
            body = {step.key: step.body}
            assert referenced_file_names(body, PARTITION) <= files(observed)
    used = referenced_file_names({key: item.attributes for key, item in observed.items()}, PARTITION)
    assert used <= files(observed)
    if not held:
        assert not todo.problems and files(observed) == used
        assert not planned(observed, *wanted, complete=True, brought=()).operations
