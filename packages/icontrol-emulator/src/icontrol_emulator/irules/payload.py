"""Collected data: `HTTP::payload` and `TCP::payload`."""

from __future__ import annotations

from dataclasses import dataclass

from icontrol_emulator.irules.expressions import Failed

PAYLOAD_BYTES_MAX = 1_048_576


@dataclass(slots=True)
class Payload:
    """Data as text with one character per byte; `wanted` is the number of bytes that are still missing, 0 for none."""

    data: str = ""
    wanted: int = 0
    changed: bool = False

    def command(self, words: list[str]) -> str:
        """`payload [LENGTH]`, `payload OFFSET LENGTH`, `payload length`, `payload replace OFFSET LENGTH DATA`."""
        match words:
            case []:
                return self.data
            case ["length"]:
                return str(len(self.data))
            case ["replace", first, count, text]:
                at = int(first)
                self.data = self.data[:at] + text + self.data[at + int(count) :]
                self.changed = True
                return ""
            case [count] if count.isdigit():
                return self.data[: int(count)]
            case [first, count] if first.isdigit() and count.isdigit():
                return self.data[int(first) : int(first) + int(count)]
        raise Failed(f"bad payload command: {' '.join(words)[:100]}")
