"""Ethernet frames with and without a tag, in VXLAN and in GRE. Pure."""

from __future__ import annotations

import ipaddress
import struct
from typing import NamedTuple

TAGGED = b"\x81\x00"
HEADER_BYTES = 14
TAG_BYTES = 4
EVERYBODY = "ff:ff:ff:ff:ff:ff"
_ARP = b"\x08\x06"
_BRIDGED = 0x6558
"""Transparent Ethernet bridging (RFC 1701)."""
_KEY_PRESENT = 0x2000
_VNI_VALID = 0x08


class Framed(NamedTuple):
    """A frame, and the tag or the key with which it came."""

    number: int
    frame: bytes


def tagged(frame: bytes, tag: int) -> bytes:
    """The frame with an 802.1Q tag."""
    return frame[:12] + TAGGED + struct.pack("!H", tag) + frame[12:]


def untagged(frame: bytes) -> Framed | None:
    """The frame without its tag, which is 0 if it had none; None if it is cut off."""
    if len(frame) < HEADER_BYTES or frame[12:14] != TAGGED:
        return Framed(0, frame) if len(frame) >= HEADER_BYTES else None
    if len(frame) < HEADER_BYTES + TAG_BYTES:
        return None
    return Framed(struct.unpack("!H", frame[14:16])[0] & 0xFFF, frame[:12] + frame[16:])


def target_of(frame: bytes) -> str:
    """The hardware address that the frame is for."""
    return frame[:6].hex(":")


def is_for_many(frame: bytes) -> bool:
    """Whether it is a broadcast or multicast."""
    return bool(frame[0] & 1)


def in_vxlan(frame: bytes, key: int) -> bytes:
    """The payload of a VXLAN datagram (RFC 7348)."""
    return struct.pack("!II", _VNI_VALID << 24, key << 8) + frame


def of_vxlan(data: bytes) -> Framed | None:
    if len(data) < 8 + HEADER_BYTES or not data[0] & _VNI_VALID:
        return None
    return Framed(struct.unpack("!I", data[4:8])[0] >> 8, data[8:])


def in_gre(frame: bytes, key: int) -> bytes:
    """The payload of an IP packet of protocol 47, with a key (RFC 2890)."""
    return struct.pack("!HHI", _KEY_PRESENT, _BRIDGED, key) + frame


def of_gre(data: bytes) -> Framed | None:
    if len(data) < 8 + HEADER_BYTES or struct.unpack("!HH", data[:4]) != (_KEY_PRESENT, _BRIDGED):
        return None
    return Framed(struct.unpack("!I", data[4:8])[0], data[8:])


def announcement(host: str, hardware: str) -> bytes | None:
    """A gratuitous ARP request: the IPv4 address is at this hardware address now. None for IPv6."""
    address = ipaddress.ip_address(host)
    if address.version != 4:
        return None
    own = bytes.fromhex(hardware.replace(":", ""))
    body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + own + address.packed + b"\0" * 6 + address.packed
    return b"\xff" * 6 + own + _ARP + body
