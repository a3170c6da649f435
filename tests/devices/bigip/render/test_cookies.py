"""Cookies that are encrypted for clients, and those that cannot be."""

from typing import Any

import msgspec
import pytest

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import Parts
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import SessionPersistence
from evenkeel.core.tls.certificates import Secret
from evenkeel.devices.bigip.cookie_secret import CookieSecret
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RenderedObjects, WantedObject
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.services import listener, policy, pool, rule, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
SECRET = CookieSecret(content=Secret(b"x" * 32))
D = SECRET.digest


def made(definition: ServiceDefinition, tags: dict[str, tuple[str, ...]] | None = None, **more: Any) -> RenderedObjects:
    parts = msgspec.convert({"cookie_encryption": {"cookies": ["session", "SRV"]}, **more}, Parts)
    known = {"web": Definition(name="web", file="a.json", parts=parts, tags=tags or {})}
    return render_load_balancer(definition, NAMES, enhanced=known, cookie_secret=SECRET)


def objects(found: RenderedObjects) -> dict[str, WantedObject]:
    assert not found.problem
    return {f"{item.key.type} {item.key.name}": item for item in found.objects}


def sticky(kind: Any = "HTTP_COOKIE", name: str | None = "SRV") -> SessionPersistence:
    return SessionPersistence(type=kind, cookie_name=name)


def using(*, persistence: SessionPersistence | None = None, **changes: Any) -> ServiceDefinition:
    return service(
        listeners=(listener(enhanced_services=("web",), **changes),),
        pools=(pool(session_persistence=persistence), pool(2, session_persistence=None)),
    )


def test_each_cookie_is_encrypted_once() -> None:
    found = objects(made(using(persistence=sticky())))
    http = found[f"ltm/profile/http dev_http-{D}_listener-1"]
    assert http.attributes["encryptCookies"] == ["session"]
    persistence = found[f"ltm/persistence/cookie dev_cookie-{D}_pool-1"]
    assert (persistence.attributes["cookieEncryption"], persistence.attributes["cookieName"]) == ("required", "SRV")
    assert http.secrets["encryptCookieSecret"] == persistence.secrets["cookieEncryptionPassphrase"]
    virtual = found["ltm/virtual dev_listener-1"].attributes
    assert [one["name"] for one in virtual["persist"]] == [persistence.key.name]
    assert f"/dev_a3f1c2/{http.key.name}" in [one["name"] for one in virtual["profiles"]]


def test_cookie_of_a_pool_without_a_name_for_it_is_encrypted_too() -> None:
    found = objects(made(using(persistence=sticky(name=None))))
    assert "cookieName" not in found[f"ltm/persistence/cookie dev_cookie-{D}_pool-1"].attributes


def test_profile_of_an_operator_as_parent_keeps_the_encryption() -> None:
    found = objects(made(using(), tags={"lbaas_http_profile": ("/Common/http-transparent",)}))
    (http,) = (item for name, item in found.items() if name.startswith("ltm/profile/http "))
    assert http.attributes["defaultsFrom"] == "/Common/http-transparent"
    assert http.attributes["encryptCookies"] == ["SRV", "session"] and http.secrets


def test_listener_without_the_service_has_a_plain_cookie_of_the_same_pool() -> None:
    both = (listener(enhanced_services=("web",)), listener(2, protocol_port=81, default_pool_id="pool-1"))
    definition = service(listeners=both, pools=(pool(session_persistence=sticky()),))
    found = objects(made(definition))
    used = [found[f"ltm/virtual dev_listener-{number}"].attributes["persist"][0]["name"] for number in (1, 2)]
    assert used == [f"dev_cookie-{D}_pool-1", "dev_cookie_pool-1"]


def test_another_secret_makes_other_objects() -> None:
    other = CookieSecret(content=Secret(b"y" * 32))
    assert other.digest != D and other.passphrase("lb-1") != SECRET.passphrase("lb-1")
    assert SECRET.passphrase("lb-2") != SECRET.passphrase("lb-1")


@pytest.mark.parametrize(
    ("definition", "more", "problem"),
    [
        (
            using(l7policies=(policy(1, rule(type="COOKIE", key="session", compare_type="EQUAL_TO", value="a")),)),
            {},
            "cookie 'session': a BIG-IP cannot encrypt a cookie that",
        ),
        (using(persistence=sticky("APP_COOKIE", "session")), {}, "cookie 'session': a BIG-IP cannot encrypt"),
        (using(), {"rate_limit": {"requests": 1, "cookie": "session"}}, "cookie 'session': a BIG-IP cannot encrypt"),
        (
            using(
                persistence=sticky(),
                l7policies=(policy(1, action="REDIRECT_TO_POOL", redirect_pool_id="pool-2"),),
            ),
            {},
            "pool pool-1: session_persistence HTTP_COOKIE is encrypted only if",
        ),
    ],
)
def test_cookie_that_cannot_be_encrypted_is_refused_by_name(
    definition: ServiceDefinition, more: dict[str, Any], problem: str
) -> None:
    assert f"listener listener-1: cookie_encryption: {problem}" in made(definition, **more).problem
