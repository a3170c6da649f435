"""Emulated BIG-IPs without traffic, by the running loop's clock."""

from icontrol_emulator import Emulator
from tests.virtual.database import wall_clock


def emulated(*names: str) -> Emulator:
    """One device, or a pair; to be entered."""
    ha = "standalone" if len(names) == 1 else "pair"
    return Emulator(devices=names, ha=ha, users={"admin": "admin"}, data_plane=False, clock=wall_clock)
