"""F5's files, and everything that can be wrong with them."""

import json
from typing import Any

import pytest

from evenkeel.config.esd.definition import Definition, object_types
from evenkeel.config.esd.parse import DEFINITIONS_MAX, FILE_BYTES_MAX, LIST_MAX, ParsedFiles, parse_all
from evenkeel.config.esd.tags import OTHER_NAMES, TAGS

DEMO = {
    "esd_demo_1": {
        "lbaas_ctcp": "tcp-mobile-optimized",
        "lbaas_stcp": "tcp-lan-optimized",
        "lbaas_cssl_profile": "clientssl",
        "lbaas_sssl_profile": "serverssl",
        "lbaas_http_profile": "http-transparent",
        "lbaas_irule": ["_sys_https_redirect"],
        "lbaas_policy": ["demo_policy"],
        "lbaas_persist": "hash",
        "lbaas_fallback_persist": "source_addr",
        "lbaas_oneconnect_profile": "oneconnect",
    },
    "esd_demo_2": {"lbaas_irule": ["_sys_https_redirect", "/Common/tools/_sys_APM_ExchangeSupport_helper"]},
}
"""As in F5's documentation."""


def parsed(*, strict: bool = False, **files: Any) -> ParsedFiles:
    """Parse files by name without their suffix."""
    texts = {
        f"{name}.json": content if isinstance(content, bytes) else json.dumps(content).encode()
        for name, content in files.items()
    }
    return parse_all(texts, strict=strict)


def only(content: Any) -> Definition:
    (definition,) = parsed(a={"web": content}).definitions.values()
    return definition


def test_f5s_example_is_read() -> None:
    found = parsed(demo=DEMO)
    assert not found.problems
    first, second = found.definitions.values()
    assert (first.name, first.file, first.problem) == ("esd_demo_1", "demo.json", "")
    assert first.path("lbaas_ctcp") == "/Common/tcp-mobile-optimized"
    assert first.tags["lbaas_policy"] == ("/Common/demo_policy",)
    assert second.tags == {
        "lbaas_irule": ("/Common/_sys_https_redirect", "/Common/tools/_sys_APM_ExchangeSupport_helper")
    }
    assert "ltm/profile/tcp" in object_types((first,))
    assert object_types((second,)) == ("ltm/rule",)


@pytest.mark.parametrize("tag", TAGS)
def test_every_tag_is_known(tag: str) -> None:
    content = ["x"] if TAGS[tag].many else "x"
    assert only({tag: content}).tags == {tag: ("/Common/x",)}


@pytest.mark.parametrize(("other", "tag"), OTHER_NAMES.items())
def test_names_of_other_forks_mean_the_same(other: str, tag: str) -> None:
    assert only({other: "x"}).tags == {tag: ("/Common/x",)}


@pytest.mark.parametrize("tag", ["lbaas_fastl4", "lbaas_one_connect", "lbaas_http_compression"])
def test_an_empty_text_removes_a_profile(tag: str) -> None:
    assert only({tag: ""}).tags == {OTHER_NAMES.get(tag, tag): ()}


def test_an_empty_list_names_nothing() -> None:
    assert only({"lbaas_policy": []}).tags == {"lbaas_policy": ()}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (["lbaas_ctcp"], "an object of tags and parts is allowed"),
        ({"lbaas_color": "red"}, "'lbaas_color': no such tag; allowed are lbaas_ctcp, "),
        ({"lbaas_ctcp": 5}, "lbaas_ctcp: 5: the name of an object in /Common"),
        ({"lbaas_ctcp": ""}, "lbaas_ctcp: '': the name of an object in /Common"),
        ({"lbaas_ctcp": ["tcp"]}, 'lbaas_ctcp: ["tcp"]: the name'),
        ({"lbaas_ctcp": "/tenant/tcp"}, "lbaas_ctcp: '/tenant/tcp': the name"),
        ({"lbaas_ctcp": "/Common/../tenant"}, "lbaas_ctcp: '/Common/../tenant': the name"),
        ({"lbaas_ctcp": "a//b"}, "lbaas_ctcp: 'a//b': the name"),
        ({"lbaas_ctcp": "tcp\n"}, "the name of an object in /Common"),
        ({"lbaas_ctcp": "x" * 200}, "…: the name of an object in /Common"),
        ({"lbaas_irule": "rule"}, "lbaas_irule: 'rule': a list of names is allowed"),
        ({"lbaas_irule": {"a": "b"}}, 'lbaas_irule: {"a": "b"}: a list of names is allowed'),
        ({"lbaas_irule": [1]}, "lbaas_irule: 1: the name"),
        ({"lbaas_irule": ["a", "/Common/a"]}, "named twice"),
        ({"lbaas_irule": [f"r{n}" for n in range(LIST_MAX + 1)]}, f"{LIST_MAX + 1} names; at most {LIST_MAX}"),
        ({"lbaas_http": "a", "lbaas_http_profile": "b"}, "lbaas_http_profile: given twice"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_wrong_definition_is_kept_with_its_problem(content: Any, said: str, strict: bool) -> None:
    if "given twice" in said and not strict:
        pytest.skip("its first tag is usable")
    found = parsed(strict=strict, a={"web": content, "good": {}})
    assert not found.problems
    problem = found.definitions["web"].problem
    assert problem.startswith("a.json: enhanced service 'web': ")
    assert said in problem
    assert found.definitions["web"].tags == {}
    assert not found.definitions["good"].problem


@pytest.mark.parametrize("name", ["", "a b", "a:b", "x" * 65])
def test_a_wrong_name_is_a_problem(name: str) -> None:
    (found,) = parsed(a={name: {}}).definitions.values()
    assert "a name of 1 to 64 letters" in found.problem


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"web": ', "a.json: line 1, column 9: not JSON"),
        (b"[1]", "a.json: an object of enhanced services by name is allowed"),
        (b"\xff", "a.json: not UTF-8"),
        (b"[" * 60_000, "a.json: not JSON that can be read"),
        (b'{"web": {"lbaas_ctcp": ' + b"9" * 10_000 + b"}}", "a.json: not JSON that can be read"),
        (b" " * (FILE_BYTES_MAX + 1), f"a.json: larger than {FILE_BYTES_MAX} bytes"),
    ],
)
def test_a_file_that_cannot_be_read_does_not_affect_others(content: bytes, said: str) -> None:
    found = parsed(a=content, b={"good": {}})
    assert found.problems["a.json"].startswith(said)
    assert list(found.definitions) == ["good"]


def test_a_name_in_two_files_is_unusable_in_both() -> None:
    found = parsed(a={"web": {}, "other": {}}, b={"web": {}})
    assert (
        found.definitions["web"].problem
        == "a.json and b.json: enhanced service 'web' is defined more than once; once is allowed"
    )
    assert not found.definitions["other"].problem


def test_a_name_twice_in_one_file_is_unusable() -> None:
    found = parsed(a=b'{"web": {"lbaas_ctcp": "a"}, "web": {"lbaas_ctcp": "b"}}')
    assert found.definitions["web"].problem.startswith("2 times in a.json: ")


def test_a_tag_twice_is_a_problem() -> None:
    found = parsed(strict=True, a=b'{"web": {"lbaas_ctcp": "a", "lbaas_ctcp": "b"}}')
    assert "lbaas_ctcp: given twice" in found.definitions["web"].problem


def test_unusable_tags_are_discarded_with_a_warning_each_and_the_definition_is_kept() -> None:
    """As F5's agent: a list with one unusable name is discarded as a whole."""
    content = {"lbaas_ctcp": "tcp", "lbaas_color": "red", "lbaas_irule": ["a", 5], "lbaas_stcp": 7}
    (found,) = parsed(a={"web": content}).definitions.values()
    assert (found.tags, found.problem) == ({"lbaas_ctcp": ("/Common/tcp",)}, "")
    told = [one.removeprefix("a.json: enhanced service 'web': ").partition(":")[0] for one in found.warnings]
    assert told == ["'lbaas_color'", "lbaas_irule", "lbaas_stcp"]
    assert all(one.endswith("; the tag is discarded") for one in found.warnings)
    (strictly,) = parsed(strict=True, a={"web": content}).definitions.values()
    assert not strictly.tags and all(name in strictly.problem for name in ("lbaas_color", "lbaas_irule", "lbaas_stcp"))


def test_definition_without_any_usable_tag_is_unusable() -> None:
    (found,) = parsed(a={"web": {"lbaas_color": "red"}}).definitions.values()
    assert "no such tag" in found.problem and not found.warnings


def test_definitions_are_bounded() -> None:
    found = parsed(a={f"e{number}": {} for number in range(DEFINITIONS_MAX + 2)})
    assert len(found.definitions) == DEFINITIONS_MAX
    assert f"at most {DEFINITIONS_MAX} in all files" in found.problems["a.json"]
