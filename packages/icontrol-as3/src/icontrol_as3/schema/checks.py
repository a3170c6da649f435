"""Checks of values: each yields the errors of a value, with the path at which the declaration has it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Check = Callable[[Any, str], Iterator[str]]

LABEL_LENGTH_MAX = 64
TEXT_LENGTH_MAX = 1024
LIST_LENGTH_MAX = 10_000
_NAME = re.compile(r"[A-Za-z][0-9A-Za-z_.-]{0,189}\Z")
_DOMAIN = re.compile(r"%\d{1,5}\Z")


def is_name(text: str) -> bool:
    """Whether AS3 takes it as the name of a tenant, an application or an object."""
    return _NAME.match(text) is not None


def text(most: int = TEXT_LENGTH_MAX, least: int = 0) -> Check:
    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield f"{path}: should be string"
        elif not least <= len(value) <= most:
            yield f"{path}: should have {least} to {most} characters"

    return check


def integer(least: int, most: int) -> Check:
    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield f"{path}: should be integer"
        elif not least <= value <= most:
            yield f"{path}: should be {least} to {most}, not {value}"

    return check


def boolean(value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{path}: should be boolean"


def one_of(*allowed: Any) -> Check:
    def check(value: Any, path: str) -> Iterator[str]:
        if not any(value is each if isinstance(each, bool) else value == each for each in allowed):
            yield f"{path}: should be equal to one of the allowed values ({', '.join(map(str, allowed))})"

    return check


def address(value: Any, path: str) -> Iterator[str]:
    """An IP address, perhaps with a route domain as in `10.0.0.1%5`."""
    try:
        ipaddress.ip_address(_DOMAIN.sub("", value) if isinstance(value, str) else "")
    except ValueError:
        yield f"{path}: should be an IP address"


def listed(check: Check, least: int = 0, most: int = LIST_LENGTH_MAX) -> Check:
    def check_list(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{path}: should be array"
            return
        if not least <= len(value) <= most:
            yield f"{path}: should have {least} to {most} items"
        for number, each in enumerate(value[:most]):
            yield from check(each, f"{path}/{number}")

    return check_list


def fields(known: Mapping[str, Check], required: tuple[str, ...] = ()) -> Check:
    """An object with these properties, of which some are required."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path}: should be object"
            return
        for name in required:
            if name not in value:
                yield f"{path}: should have required property '{name}'"
        for name, inner in value.items():
            if name in known:
                yield from known[name](inner, f"{path}/{name}")
            else:
                yield f"{path}: should NOT have additional properties ('{name}' is unknown or not emulated)"

    return check


def either(first: Check, second: Check) -> Check:
    """A value that passes one of two checks; objects are meant for the second one, others for the first."""

    def check(value: Any, path: str) -> Iterator[str]:
        yield from (second if isinstance(value, dict) else first)(value, path)

    return check


_USE = fields({"use": text(least=1)}, ("use",))
_BIGIP = fields({"bigip": text(least=1)}, ("bigip",))


def existing(value: Any, path: str) -> Iterator[str]:
    """A reference to an object in the declaration (`use`) or on the device (`bigip`)."""
    yield from (_BIGIP if isinstance(value, dict) and "bigip" in value else _USE)(value, path)


reference = either(text(least=1), existing)
"""A name in the declaration, or a reference."""


def word_or_reference(*words: str) -> Check:
    """A word that stands for an object that each device has, or a reference."""
    return either(one_of(*words), existing)
