"""What would change on a BIG-IP, as operators are shown it."""

from evenkeel.core.tls.certificates import Secret
from evenkeel.devices.bigip.objects import (
    KEY_FILE,
    MEMBER,
    POOL,
    ConfigOperation,
    Key,
    ObservedObject,
    Verb,
)
from evenkeel.devices.bigip.reconcile.description import describe_plan
from evenkeel.devices.bigip.reconcile.plan import Plan

POOL_KEY, MEMBER_KEY = Key(type=POOL, name="p"), Key(type=MEMBER, name="10.0.0.1:80", pool="p")


def test_operations_show_what_differs_and_members_of_new_pools() -> None:
    member = ObservedObject(key=MEMBER_KEY, attributes={"ratio": 1})
    observed = {POOL_KEY: ObservedObject(key=POOL_KEY, attributes={}, members={member.key.name: member})}
    body = {"name": "q", "partition": "dev_p", "members": [{"name": "10.0.0.2:80", "partition": "dev_p", "ratio": 3}]}
    todo = Plan(
        operations=(
            ConfigOperation(verb=Verb.MODIFY, key=MEMBER_KEY, owner="lb", body={"ratio": 2}),
            ConfigOperation(verb=Verb.CREATE, key=Key(type=POOL, name="q"), owner="lb", body=body),
            ConfigOperation(verb=Verb.DELETE, key=POOL_KEY, owner="lb"),
        ),
        problems={"lb-2": "no such thing"},
    )
    plan = describe_plan("bigip-1", todo, observed, "dev_p")
    assert [
        (step.verb, step.type, step.name, [(one.name, one.present, one.wanted) for one in step.attributes])
        for step in plan.operations
    ] == [
        ("modify", MEMBER, "/dev_p/p/10.0.0.1:80", [("ratio", "1", "2")]),
        ("create", POOL, "/dev_p/q", []),
        ("create", MEMBER, "/dev_p/q/10.0.0.2:80", [("ratio", "", "3")]),
        ("delete", POOL, "/dev_p/p", []),
    ]
    assert plan.problem == "no such thing"


def test_of_files_nothing_but_the_name_is_shown() -> None:
    key = Key(type=KEY_FILE, name="dev_x.key")
    step = ConfigOperation(
        verb=Verb.CREATE, key=key, owner="lb", body={"name": key.name}, content=Secret(b"-----BEGIN PRIVATE KEY-----")
    )
    (shown,) = describe_plan("bigip-1", Plan(operations=(step,)), {}, "dev_p").operations
    assert (shown.name, shown.attributes) == ("/dev_p/dev_x.key", ())
