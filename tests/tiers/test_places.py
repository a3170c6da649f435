"""Every place that tiers name is there, and none is named in vain."""

import pytest

from tests.tiers import marks
from tests.tiers.places import (
    ACCEPTANCE,
    PURE,
    RELEASE,
    SERVERS,
    SLOW,
    WITHOUT_SERVERS,
    is_in,
    is_slow,
    needs_servers,
    release_place,
)

TESTS = marks.TESTS


@pytest.mark.parametrize("place", [*SLOW, *SERVERS, *PURE, *ACCEPTANCE, *WITHOUT_SERVERS, *RELEASE])
def test_place_exists(place: str) -> None:
    file, _, test = place.partition("::")
    path = marks.ROOT / file if file.startswith("packages/") else TESTS / file
    assert path.exists()
    assert marks.place_of(path) == file
    assert f"def {test}" in path.read_text() if test else True


@pytest.mark.parametrize("place", RELEASE)
def test_own_paths_of_release_tests_exist(place: str) -> None:
    assert [path for path in RELEASE[place].paths if not (marks.ROOT / path).exists()] == []


def test_pure_folders_are_inside_of_those_with_servers() -> None:
    assert all(any(is_in(place, outer) for outer in SERVERS) for place in PURE)


def test_places_hold_what_is_below_them() -> None:
    assert is_slow("sim/test_seeds.py") and not is_slow("simple/test_seeds.py")
    assert needs_servers("devices/bigip/test_pair.py") and not needs_servers("devices/bigip/render/test_tls.py")
    emulator = "packages/icontrol-emulator"
    assert release_place(f"{emulator}/tests/emulator_tests/test_irules.py::test_a[b]") == emulator
    assert release_place("sim/test_seeds.py::test_more_seeds[1]") == "sim/test_seeds.py::test_more_"
    assert release_place("sim/test_seeds.py::test_the_faults_are_real") is None


@pytest.mark.parametrize(
    ("changed", "expected"),
    [(None, False), ({"packages/icontrol-emulator/src/icontrol_emulator/x.py"}, True), ({"x"}, False)],
)
def test_release_tests_run_when_their_paths_are_known_to_have_changed(
    changed: set[str] | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "_changed_files", lambda: changed)
    assert marks.is_changed.__wrapped__("packages/icontrol-emulator") is expected


@pytest.mark.parametrize(
    ("expression", "path", "possible"),
    [
        ("not (services or servers)", "bus/test_memory.py", False),
        ("not (services or servers)", "store/test_backup.py", True),
        ("(services or servers) and not acceptance", "store/test_backup.py", True),
        ("(services or servers) and not acceptance", "core/networking/test_addresses.py", False),
        ("acceptance", "store/test_backup.py", False),
        ("acceptance", "ui/test_flows.py", True),
        ("not slow", "sim/test_seeds.py", False),
        ("not release", "sim/test_seeds.py", True),  # some of its tests are
        ("anything", "core/networking/test_addresses.py", True),
        ("not anything", "core/networking/test_addresses.py", True),
    ],
)
def test_a_file_is_imported_if_it_may_have_a_selected_test(expression: str, path: str, possible: bool) -> None:
    assert marks._is_possible(expression, path) is possible


@pytest.mark.parametrize(
    ("expression", "folder", "possible"),
    [
        ("acceptance", "ui", True),
        ("not (services or servers) and not acceptance", "ui", False),
        ("not (services or servers)", "store", True),
        ("acceptance", "store", False),
    ],
)
def test_a_folder_is_entered_if_one_of_its_files_may_have_a_selected_test(
    expression: str, folder: str, possible: bool
) -> None:
    assert marks._may_hold(expression, TESTS / folder) is possible
