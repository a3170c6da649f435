"""Enhanced services while files and devices change."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.devices.bigip.esd.device_objects import REVERIFY_SECONDS, DeviceObjects
from evenkeel.devices.bigip.esd.verify import CommonPaths
from evenkeel.devices.esd.catalogue import Catalogue
from tests.devices.services import PROJECT, gone, listener, service


class Rig:
    """A directory, a device, and a clock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.objects = {"ltm/profile/tcp": {"/Common/tcp"}, "ltm/rule": {"/Common/r"}}
        self.reachable = True
        self.asked: list[tuple[str, ...]] = []
        self.seconds = 0.0
        self.catalogue = Catalogue(str(directory), DeviceObjects(self.look, now=lambda: self.seconds))

    async def look(self, types: tuple[str, ...]) -> Mapping[str, CommonPaths]:
        self.asked.append(types)
        if not self.reachable:
            raise DeviceUnavailable("one", "gone")
        return {"one": {kind: frozenset(self.objects.get(kind, ())) for kind in types}}

    def write(self, file: str = "a.json", **content: Any) -> None:
        (self.directory / file).write_text(json.dumps(content))

    async def problems(self) -> dict[str, str]:
        await self.catalogue.refresh()
        return {one.name: one.problem for one in self.catalogue.take_changed_services().services}


def user(number: int, *names: str) -> Any:
    return service(number, listeners=(listener(number, enhanced_services=names),))


async def test_a_change_of_files_makes_its_users_due(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(web={"lbaas_ctcp": "tcp"}, other={})
    await rig.catalogue.definitions_for((user(1, "web"), user(2, "other"), user(3), user(4, "web")))
    rig.catalogue.take_changed_services()
    await rig.catalogue.refresh()
    assert rig.catalogue.take_changed_services().due == {}
    rig.write(web={"lbaas_irule": ["r"]}, other={})
    await rig.catalogue.refresh()
    assert rig.catalogue.take_changed_services().due == {PROJECT: ("lb-1", "lb-4")}
    assert rig.catalogue.take_changed_services().due == {}


async def test_load_balancer_that_no_longer_uses_a_changed_service_is_not_due(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(web={})
    await rig.catalogue.definitions_for((user(1, "web"), user(2, "web")))
    await rig.catalogue.definitions_for((user(1), gone(2)))
    rig.catalogue.take_changed_services()
    rig.write(web={"lbaas_irule": ["r"]})
    await rig.catalogue.refresh()
    assert rig.catalogue.take_changed_services().due == {}


async def test_devices_are_asked_when_files_change_and_now_and_then(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(web={"lbaas_ctcp": "tcp"})
    assert await rig.problems() == {"web": ""}
    assert await rig.problems() == {"web": ""}
    assert rig.asked == [("ltm/profile/tcp",)]
    rig.objects["ltm/profile/tcp"] = set()
    rig.seconds += REVERIFY_SECONDS
    assert "has no ltm/profile/tcp" in (await rig.problems())["web"]
    rig.objects["ltm/profile/tcp"] = {"/Common/tcp"}
    rig.seconds += REVERIFY_SECONDS
    assert await rig.problems() == {"web": ""}


async def test_a_device_out_of_reach_is_asked_again(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.reachable = False
    rig.write(web={"lbaas_ctcp": "absent"})
    assert await rig.problems() == {"web": ""}
    rig.reachable = True
    assert "has no ltm/profile/tcp" in (await rig.problems())["web"]


async def test_a_removed_definition_is_a_problem_that_names_broken_files(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(web={})
    assert not (await rig.catalogue.definitions_for((user(1, "web"),)))["web"].problem
    (tmp_path / "a.json").write_text("{")
    assert "" in await rig.problems()
    found = (await rig.catalogue.definitions_for((user(1, "web"),)))["web"].problem
    assert found.startswith(f"enhanced service 'web' is in no file of {tmp_path} (a.json: line 1, ")


async def test_without_a_directory_there_are_none() -> None:
    async def look(types: tuple[str, ...]) -> Mapping[str, CommonPaths]:
        raise AssertionError

    catalogue = Catalogue("", DeviceObjects(look))
    await catalogue.refresh()
    assert catalogue.take_changed_services().services == ()
    found = (await catalogue.definitions_for((user(1, "web"),)))["web"].problem
    assert "esd_dir is not set" in found


async def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "gone")
    assert await rig.problems() == {"": f"{tmp_path / 'gone'}: No such file or directory"}


async def test_optional_name_counts_once_a_file_has_it(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(other={})
    assert await rig.catalogue.definitions_for((user(1, "?web"),)) == {}
    rig.write(web={})
    await rig.catalogue.refresh()
    assert rig.catalogue.take_changed_services().due
    found = await rig.catalogue.definitions_for((user(1, "?web"),))
    assert [(name, one.name) for name, one in found.items()] == [("?web", "web")]


async def test_discarded_tags_are_reported_and_strictly_a_problem(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(web={"lbaas_color": "red", "lbaas_policy": []})
    await rig.catalogue.refresh()
    (one,) = rig.catalogue.take_changed_services().services
    assert not one.problem and "lbaas_color" in one.warnings[0]
    strict = Catalogue(str(tmp_path), DeviceObjects(rig.look), strict=True)
    await strict.refresh()
    (one,) = strict.take_changed_services().services
    assert "lbaas_color" in one.problem
