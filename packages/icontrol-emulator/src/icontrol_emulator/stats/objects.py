"""Statistics of objects that carry no traffic of their own: profiles, SNAT, VLANs, interfaces, trunks.

Names of `interface` and `http` as recorded in F5Networks/f5-telemetry-streaming and terraform-provider-bigip,
those of `vlan` as Ansible's modules read them; the others from memory. What the emulator does not count is shown as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from icontrol_emulator.config.model import Obj, Target
from icontrol_emulator.stats.entries import Entries, View, built

_HTTP = (
    "cookiePersistInserts getReqs maxKeepaliveReq postReqs respGreaterThan2m respLessThan2m resp_2xxCnt resp_3xxCnt "
    "resp_4xxCnt resp_5xxCnt v10Reqs v10Resp v11Reqs v11Resp v9Reqs v9Resp"
)
_COUNTERS = "bitsIn bitsOut dropsAll errorsAll pktsIn pktsOut"
_SIDE = "bitsIn bitsOut curConns maxConns pktsIn pktsOut totConns"


def _zeros(names: str, prefix: str = "") -> dict[str, object]:
    return {f"{prefix}{name}": 0 for name in names.split()}


def profile_entries(view: View, profile: Obj) -> Entries:
    """Entries that every profile has: its name, its kind, and its virtual server."""
    kind = profile.key.type.replace("/", " ")
    values: dict[str, object] = {"tmName": profile.key.path, "typeId": kind, "vsName": "N/A"}
    if profile.key.type == "ltm/profile/http":
        values |= {**_zeros(_HTTP), "numberReqs": sum(_requests(view, profile))}
    return built(values)


def _requests(view: View, profile: Obj) -> Iterator[int]:
    for key in list(view.engine.store.users(Target("profile", profile.key.path))):
        if key.type == "ltm/virtual/profiles":
            yield view.plane.counters.peek("virtual", key.top.path).requests


def vlan_entries(view: View, vlan: Obj) -> Entries:
    props = view.engine.props(vlan)
    mac = f"fa:16:3e:01:{int(props['tag']) >> 8:02x}:{int(props['tag']) & 0xFF:02x}"
    return built({"id": props["tag"], "macTrue": mac, "tmName": vlan.key.path})


def interface_entries(view: View, interface: Obj) -> Entries:
    props = view.engine.props(interface)
    status = "disabled" if props.get("disabled") else "up"
    facts = {"macAddress": props.get("macAddress", ""), "mediaActive": props["mediaActive"], "status": status}
    return built({**_zeros(_COUNTERS, "counters."), **facts, "tmName": interface.key.path})


def trunk_entries(view: View, trunk: Obj) -> Entries:
    members = len(trunk.props.get("interfaces", ()))
    facts: dict[str, object] = {
        "cfgMemberCount": members, "operMemberCount": members, "status": "up" if members else "down",
        "tmName": trunk.key.path,
    }  # fmt: skip
    return built({**_zeros(_COUNTERS, "counters."), **facts})


def snat_entries(view: View, snat: Obj) -> Entries:
    sides = {**_zeros(_SIDE, "clientside."), **_zeros(_SIDE, "serverside.")}
    return built({**sides, "tmName": snat.key.path})


BUILDERS: dict[str, Callable[[View, Obj], Entries]] = {
    "net/vlan": vlan_entries,
    "net/interface": interface_entries,
    "net/trunk": trunk_entries,
    "ltm/snat": snat_entries,
    "ltm/snatpool": snat_entries,
    "ltm/snat-translation": snat_entries,
    "ltm/nat": snat_entries,
}
