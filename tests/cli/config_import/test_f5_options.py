"""The table of F5's options has all that the agent's branches declare, each with its fate."""

from evenkeel.cli.config_import.f5_options import ATTACHMENT_OPTIONS, F5_DEFAULTS, F5_OPTIONS, is_neutron_option
from evenkeel.cli.config_import.translation import FLAG_OPTIONS
from tests.cli.config_import.f5_declarations import DECLARATIONS, OUTSIDE

BY_NAME = {one.name: one for one in DECLARATIONS}


def test_table_has_the_options_of_all_branches_and_no_others() -> None:
    assert len(BY_NAME) == len(DECLARATIONS)
    assert set(F5_OPTIONS) == set(BY_NAME) | OUTSIDE


def test_defaults_that_differ_from_ours_are_those_of_the_agent() -> None:
    assert {name: BY_NAME[name].default for name in F5_DEFAULTS} == F5_DEFAULTS


def test_flags_are_the_truth_values_among_the_written_options() -> None:
    written = {*ATTACHMENT_OPTIONS, "f5_global_routed_mode"}
    assert set(FLAG_OPTIONS) == {name for name in written if BY_NAME[name].kind == "bool"}


def test_options_of_f5s_agent_are_not_taken_for_neutrons() -> None:
    assert not [name for name in F5_OPTIONS if is_neutron_option(name)]


def test_options_of_9_8_to_9_10_have_a_fate_with_a_reason() -> None:
    late = {one.name for one in DECLARATIONS if not one.branches & {"v1", "v2"}}
    assert len(late) >= 36
    assert all(F5_OPTIONS[name].remark for name in late)
