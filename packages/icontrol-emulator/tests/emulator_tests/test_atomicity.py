"""A batch applies wholly or leaves the configuration, indexes included, as it was."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from icontrol_emulator.config.builtins import install
from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key
from icontrol_emulator.config.registry import Registry
from icontrol_emulator.config.types import load_registry
from icontrol_emulator.dataplane.status import MemberStatus
from icontrol_emulator.errors import IControlError

REGISTRY: Registry = load_registry()
NAMES = st.sampled_from(["a", "b", "c"])
PARTITIONS = st.sampled_from(["P", "Q", "Common"])
ADDRESSES = st.sampled_from(["10.0.0.1", "10.0.0.2"])


def new_engine() -> Engine:
    status = MemberStatus(None, 1.0)
    engine = Engine(REGISTRY, lambda: 0.0, status)
    status.attach(engine)
    install(engine, "d", [], {"admin": "admin"}, lambda device: f"serial-{device}")
    with engine.unit():
        engine.create("auth/partition", None, {"name": "P"})
    return engine


def pools() -> st.SearchStrategy[dict[str, Any]]:
    members = st.lists(ADDRESSES.map(lambda address: {"name": f"{address}:80"}), max_size=2, unique_by=str)
    return st.fixed_dictionaries({"name": NAMES, "partition": PARTITIONS, "members": members})


def virtuals() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"name": NAMES, "partition": PARTITIONS, "destination": ADDRESSES.map(lambda address: f"{address}:80")},
        optional={"pool": NAMES, "profiles": st.lists(st.sampled_from(["http", "tcp", "fastL4"]), unique=True)},
    )


STEPS = st.one_of(
    st.tuples(st.just("create"), st.just("auth/partition"), st.fixed_dictionaries({"name": PARTITIONS})),
    st.tuples(st.just("create"), st.just("ltm/pool"), pools()),
    st.tuples(st.just("create"), st.just("ltm/virtual"), virtuals()),
    st.tuples(st.just("modify"), st.just("ltm/pool"), pools()),
    st.tuples(st.just("modify"), st.just("ltm/virtual"), virtuals()),
    st.tuples(st.just("replace"), st.just("ltm/pool"), pools()),
    st.tuples(st.just("delete"), st.just("ltm/pool"), pools()),
    st.tuples(st.just("delete"), st.just("ltm/virtual"), virtuals()),
    st.tuples(st.just("delete"), st.just("auth/partition"), st.fixed_dictionaries({"name": PARTITIONS})),
)
Step = tuple[str, str, dict[str, Any]]


def run(engine: Engine, step: Step) -> None:
    action, type_path, body = step
    partition = body.get("partition")
    key = Key(type_path, "", f"/{partition}/{body['name']}" if partition else body["name"])
    if action == "create":
        engine.create(type_path, None, body)
    elif action == "delete":
        engine.delete(key)
    else:
        rest = {name: value for name, value in body.items() if name not in ("name", "partition")}
        engine.modify(key, rest) if action == "modify" else engine.replace(key, rest)


def everything(engine: Engine) -> dict[str, Any]:
    """The state with its indexes, comparable: empty index entries count as different."""
    state = {name: value for name, value in vars(engine.store).items() if name.startswith("_") and name != "_family_of"}
    plain = {name: {k: dict(v) if isinstance(v, dict) else v for k, v in value.items()}
             for name, value in state.items() if isinstance(value, dict)}  # fmt: skip
    plain["_top"] = {
        kind: {partition: dict(found) for partition, found in groups.items() if found}
        for kind, groups in engine.store._top.items()
    }
    plain["_top"] = {kind: groups for kind, groups in plain["_top"].items() if groups}
    return {**plain, "generation": engine.store.generation}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(STEPS, min_size=1, max_size=6), max_size=6))
def test_batch_applies_wholly_or_not_at_all(batches: list[list[Step]]) -> None:
    engine = new_engine()
    for batch in batches:
        before = everything(engine)
        try:
            with engine.unit():
                for step in batch:
                    run(engine, step)
        except IControlError:
            assert everything(engine) == before
        assert_sound(engine)


@settings(max_examples=50, deadline=None)
@given(st.lists(STEPS, max_size=8))
def test_validating_only_leaves_everything_as_it_was(batch: list[Step]) -> None:
    engine = new_engine()
    before = everything(engine)
    try:
        with engine.unit(keep=False):
            for step in batch:
                run(engine, step)
    except IControlError:
        pass
    assert everything(engine) == before


def assert_sound(engine: Engine) -> None:
    """Every reference of a committed configuration leads somewhere."""
    store = engine.store
    for obj in store.snapshot().objects.values():
        assert all(store.find(target) is not None for target in obj.refs), obj
        assert obj.key.owner is None or store.get(obj.key.owner) is not None, obj
