"""BIG-IP stand-ins: one emulator process with all devices of the group."""

import json
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence

from evenkeel.demo.configuration import Sections
from evenkeel.demo.devices import Emulator
from evenkeel.demo.processes import ProcessFailed
from evenkeel.demo.workspace import Workspace

DEVICE_NAMES = ("bigip-1", "bigip-2")
DEVICE_USER = "admin"
EMULATOR_PROCESS = "devices"
SAVE_PATH = "/tm/sys/config"


class BigipDevices:
    """An emulated BIG-IP, or a pair with the same configuration. A restart keeps ports and content.
    ``arguments``: further arguments of the emulator.
    """

    driver = "bigip"
    create_writes_promised = 10

    def __init__(
        self, workspace: Workspace, *, names: Sequence[str] = DEVICE_NAMES, arguments: Sequence[str] = ()
    ) -> None:
        self.names = tuple(names)
        self._workshop = workspace
        self._arguments = tuple(arguments)
        self._password = secrets.token_urlsafe(12)
        self._password_file = workspace.write_secret("icontrol-password", self._password + "\n")
        self._emulator: Emulator | None = None

    @property
    def emulator(self) -> Emulator:
        """Client of the emulated devices. Raises :class:`ProcessFailed` before :meth:`start`."""
        if self._emulator is None:
            raise ProcessFailed("the devices have not been started")
        return self._emulator

    async def start(self) -> None:
        """Start the emulator with all devices of the group, and wait until they listen. Raises
        :class:`ProcessFailed`.
        """
        state = self._workshop.directory / "devices"
        arguments = ["--state-dir", str(state), "--user", f"{DEVICE_USER}:{self._password}", "--ha", self._ha_type]
        for name in self.names:
            arguments += ["--device", f"{name}@127.0.0.1:{self._known_port(name)}"]
        announced = state / "endpoints.json"
        # The file of an earlier start would end the wait before the devices listen.
        announced.unlink(missing_ok=True)
        process = self._workshop.get_process(EMULATOR_PROCESS, "icontrol_emulator", [*arguments, *self._arguments])
        await self._workshop.run(process, announced.exists, "devices to listen")
        self._emulator = Emulator.from_announcement(
            json.loads(announced.read_text()), user=DEVICE_USER, password=self._password
        )

    @property
    def _ha_type(self) -> str:
        return "pair" if len(self.names) > 1 else "standalone"

    def _known_port(self, name: str) -> int:
        known = {} if self._emulator is None else {device.name: device.port for device in self._emulator.devices}
        return known.get(name, 0)

    def describe_devices(self) -> str:
        """Return a text that names the listening BIG-IP stand-ins."""
        what = "a pair of BIG-IP stand-ins listens" if len(self.names) > 1 else "a BIG-IP stand-in listens"
        return f"{what}: {', '.join(self.names)}"

    def experiment_hints(self) -> list[str]:
        """Return no hints: client traffic passes through the emulator, and would end with it."""
        return []

    def agent_sections(self, host: str) -> Sections:
        """Return the section ``[bigip]`` of the agents' configuration, the same on every host; all agents share one
        user of the devices.
        """
        return {
            "bigip": {
                "icontrol_hostname": [device.address for device in self.emulator.devices],
                "icontrol_username": DEVICE_USER,
                "icontrol_password_file": self._password_file,
                "f5_ha_type": self._ha_type,
                "ca_file": self.emulator.ca_file,
                "allow_loopback_addresses": True,  # everything is on this machine
            }
        }

    def last_write(self) -> int:
        """Return the number of the newest entry in the emulator's log of writes."""
        return self.emulator.last_write()

    def writes_after(self, number: int) -> Mapping[str, int]:
        """Return the number of writes after entry ``number`` of the emulator's log of writes, by device.

        Writes that save the running configuration are not counted: their time depends on earlier changes.
        """
        writes = self.emulator.writes(number)
        counted = Counter(entry["device"] for entry in writes if not entry["path"].endswith(SAVE_PATH))
        return {name: counted[name] for name in self.names}

    def first_write_time(self, host: str, after: int) -> float | None:
        """Return the time, in seconds since the epoch, of the first write of the agent on ``host`` that a
        device committed after entry ``after``; None: not yet.
        """
        write = self.emulator.first_write_by(host, after)
        return None if write is None else float(write["time"])

    def members(self) -> Mapping[str, set[str]]:
        """Return the members of all pools by device, as ``address:port``, for IPv6 ``address.port``."""
        return {
            device.name: {name for names in self.emulator.members(device).values() for name in names}
            for device in self.emulator.devices
        }

    def cut_off(self) -> None:
        """Cut the devices off from all agents; client traffic continues."""
        self.emulator.control("POST", "/faults", {"kind": "unreachable"})

    def reconnect(self) -> None:
        """Undo :meth:`cut_off`, so that agents reach the devices again."""
        self.emulator.control("DELETE", "/faults")

    def close(self) -> None:
        """Do nothing: no process outlives the emulator."""
