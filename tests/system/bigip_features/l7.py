"""L7 policies and rules."""

import re
from typing import Any

from tests.devices.tls_behaviour import CLIENT
from tests.system.bigip_features.actors import Actors, Body, Feature, Scene, listener, one, pool, tls_listener
from tests.system.bigip_features.matching import ANY


def rule(type_: str, compare_type: str, value: str, **changes: Any) -> Body:
    return {"type": type_, "compare_type": compare_type, "value": value, **changes}


def policy(action: str, *rules: Body, **changes: Any) -> Body:
    return {"action": action, "rules": list(rules), **changes}


def before(*policies: Body) -> Any:
    """A listener with these policies; those with ``redirect_pool`` send to the second member."""

    def body(actors: Actors) -> Body:
        first, second, _ = actors.members()
        filled = [
            {**each, "redirect_pool": pool([second], name="other")} if each["action"] == "REDIRECT_TO_POOL" else each
            for each in policies
        ]
        return one(listener(pool([first]), l7policies=filled))

    return body


def location(head: str) -> str:
    found = re.search(r"(?im)^location: (.*?)\r?$", head)
    return f"{head.split()[1]} {found.group(1)}" if found else head.split()[1]


async def by_policy(scene: Scene) -> None:
    assert (await scene.ask("Host: shop.test"))[1] == "plain-1"
    assert (await scene.ask(path="/shop/a.jpg"))[1] == "plain-2"
    assert location((await scene.ask(path="/old"))[0]) == "302 http://new.test/"


async def by_rule(scene: Scene) -> None:
    async def got(path: str, *headers: str) -> str:
        return location((await scene.ask(*headers, path=path))[0])

    assert await got("/never") == "403"
    assert await got("/moved?x=1") == "307 https://new.test/moved?x=1"
    assert await got("/abc/12") == "301 http://regex.test/"
    assert await got("/x/end") == "302 http://end.test/"
    assert await got("/", "X-Kind: of shops") == "403"
    assert await got("/", "Cookie: kind=shop") == "403"
    assert await got("/") == "200"


async def by_certificate(scene: Scene) -> None:
    clients = scene.over_tls()
    assert (await clients.ask(tls=clients.context(CLIENT))).status == 200
    assert (await clients.ask()).status == 403


def with_certificates(actors: Actors) -> Body:
    return one(
        tls_listener(
            actors,
            pool(actors.members()),
            client_authentication="OPTIONAL",
            client_ca_tls_container_ref=actors.references["root"],
            l7policies=[
                policy("REJECT", rule("SSL_CONN_HAS_CERT", "EQUAL_TO", "True", invert=True)),
                policy("REJECT", rule("SSL_VERIFY_RESULT", "EQUAL_TO", "0", invert=True)),
                policy("REJECT", rule("SSL_DN_FIELD", "EQUAL_TO", "client", key="CN", invert=True)),
            ],
        )
    )


FEATURES: dict[str, Feature] = {
    "L7 by an LTM policy": Feature(
        before(
            policy(
                "REDIRECT_TO_POOL",
                rule("PATH", "STARTS_WITH", "/shop"),
                rule("FILE_TYPE", "EQUAL_TO", "jpg"),
                name="shop",
            ),
            policy("REDIRECT_TO_URL", rule("PATH", "EQUAL_TO", "/old"), redirect_url="http://new.test/"),
            policy("REDIRECT_TO_URL", rule("HOST_NAME", "EQUAL_TO", "none.test"), redirect_url="http://new.test/"),
        ),
        {
            "ltm/policy": {
                "l7_{web}": {
                    "strategy": re.compile("first-match"),
                    "status": re.compile("published|legacy"),
                    "rules": [
                        {"actions": [{"forward": True, "pool": ANY}], "conditions": [{"httpUri": True}] * 2},
                        {
                            "actions": [{"redirect": True, "location": "http://new.test/"}],
                            "conditions": [{"path": True}],
                        },
                        {"actions": [{"redirect": True}], "conditions": [{"httpHost": True}]},
                        {"actions": [{"forward": True}], "conditions": []},
                    ],
                }
            }
        },
        by_policy,
    ),
    "L7 by an iRule": Feature(
        before(
            policy("REJECT", rule("PATH", "EQUAL_TO", "/never")),
            policy(
                "REDIRECT_PREFIX",
                rule("PATH", "STARTS_WITH", "/moved"),
                redirect_prefix="https://new.test",
                redirect_http_code=307,
            ),
            policy(
                "REDIRECT_TO_URL",
                rule("PATH", "REGEX", r"^/[a-z]{3}/\d+$"),
                redirect_url="http://regex.test/",
                redirect_http_code=301,
            ),
            policy("REDIRECT_TO_URL", rule("PATH", "ENDS_WITH", "/end"), redirect_url="http://end.test/"),
            policy("REJECT", rule("HEADER", "CONTAINS", '"of shop"', key="X-Kind")),
            policy("REJECT", rule("COOKIE", "EQUAL_TO", "shop", key="kind")),
        ),
        {
            "ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("class ")}},
            "ltm/data-group/internal": {"l7_{web}": {"type": "string", "records": ANY}},
        },
        by_rule,
    ),
    "L7 by clients' certificates": Feature(
        with_certificates, {"ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("X509::")}}}, by_certificate
    ),
}
