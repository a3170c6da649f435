"""Parses the content of ESD files into definitions. Pure.

The format is F5's: an object whose names are the names of enhanced services, and whose values are objects of
tag and value. A value is the name of an object in /Common, or its full path there; for ``lbaas_irule`` and
``lbaas_policy`` a list of them. Beside tags a definition may have parts (:mod:`evenkeel.config.esd.parts`)
and parameters (:mod:`evenkeel.config.esd.parameters`). An invalid definition is kept with its problem, so
that it can be shown; all others can be used.

As F5's agent does, an unusable tag is discarded with a warning, and its definition keeps the others; a
definition that has only unusable tags, and no parts, is invalid. In strict mode every unusable tag makes its
definition invalid. An unusable part always does: without a part that protects, such as a rate limit, the rest
must not be used.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parameters import PARAMETERS, declared_parameters
from evenkeel.config.esd.part_problems import part_problem
from evenkeel.config.esd.parts import NO_PARTS, PARTS, Parts
from evenkeel.config.esd.tags import OTHER_NAMES, TAG_PREFIX, TAGS
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.enhanced_services import NAME_WORDS, ServiceParameter, is_service_name

FILE_BYTES_MAX = 64 * 1024
DEFINITIONS_MAX = 200
"""Maximum number of definitions in all files together."""
LIST_MAX = 32
"""Maximum number of objects that one tag names."""
DISCARDED_MAX = len(TAGS)
"""Maximum number of unusable tags of one definition for which a reason is reported."""
SHOWN_CHARACTERS_MAX = 80

_FOLDER = "/Common/"
_PATH_PATTERN = re.compile(r"/Common/([A-Za-z0-9_.-]{1,128}/)?[A-Za-z0-9_. -]{1,128}")
_PATH_WORDS = "the name of an object in /Common, or its full path there, is allowed"

_ALL_NAMES = ", ".join((*TAGS, *OTHER_NAMES, *PARTS, PARAMETERS))
_NO_TAGS = frozenset((*PARTS, PARAMETERS))


class ParsedFiles(Value):
    """Result of parsing ESD files: ``definitions`` by name, invalid ones included, and ``problems`` of whole
    files by file name.
    """

    definitions: Mapping[str, Definition] = {}
    problems: Mapping[str, str] = {}


class _JsonPairs(list[tuple[str, Any]]):
    """A JSON object as a list of (name, value), so that a repeated name is detected."""


class _InvalidPart(Exception):
    """Content of an ESD file is invalid; the text states the error and the allowed values."""


def parse_all(contents: Mapping[str, bytes | str], *, strict: bool = False) -> ParsedFiles:
    """Parse ESD files. ``contents``: each file's content by file name; a text is the reason why the file
    could not be read. ``strict``: a definition with an unusable tag is invalid.

    A name that is defined more than once gives one definition with a problem. Definitions after the first
    :data:`DEFINITIONS_MAX` are dropped, and a problem names the first of them.
    """
    found: list[Definition] = []
    problems: dict[str, str] = {}
    for file, content in sorted(contents.items()):
        try:
            found.extend(_parsed_definitions(file, content, strict))
        except _InvalidPart as wrong:
            problems[file] = f"{file}: {wrong}"
    if len(found) > DEFINITIONS_MAX:
        dropped = found[DEFINITIONS_MAX]
        problems[dropped.file] = (
            f"{dropped.file}: enhanced service {dropped.name!r} and those after it: "
            f"at most {DEFINITIONS_MAX} in all files are allowed"
        )
    return ParsedFiles(definitions=_definitions_by_name(found[:DEFINITIONS_MAX]), problems=problems)


def _definitions_by_name(found: Iterable[Definition]) -> dict[str, Definition]:
    ordered = list(found)
    files: dict[str, list[str]] = {}
    for one in ordered:
        files.setdefault(one.name, []).append(one.file)
    return {
        one.name: one
        if len(files[one.name]) == 1
        else replace(one, tags={}, problem=_duplicate_text(one.name, files[one.name]))
        for one in ordered
    }


def _duplicate_text(name: str, files: list[str]) -> str:
    places = " and ".join(f"{times} times in {file}" if times > 1 else file for file, times in Counter(files).items())
    return f"{places}: enhanced service {name!r} is defined more than once; once is allowed"


def _parsed_definitions(file: str, content: bytes | str, strict: bool) -> list[Definition]:
    """Return the definitions in one file, invalid ones included. Raises :class:`_InvalidPart` if the file was
    not read, is too large, or is not a JSON object.
    """
    document = _parse_json(content)
    if not isinstance(document, _JsonPairs):
        raise _InvalidPart("an object of enhanced services by name is allowed")
    return [_parse_definition(file, name, value, strict) for name, value in document]


def _parse_json(content: bytes | str) -> Any:
    if isinstance(content, str):
        raise _InvalidPart(content)
    if len(content) > FILE_BYTES_MAX:
        raise _InvalidPart(f"larger than {FILE_BYTES_MAX} bytes, the most that is allowed")
    try:
        return json.loads(content.decode(), object_pairs_hook=_JsonPairs)
    except UnicodeDecodeError as error:
        raise _InvalidPart("not UTF-8") from error
    except json.JSONDecodeError as error:
        raise _InvalidPart(f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})") from error
    except (RecursionError, ValueError) as error:
        raise _InvalidPart("not JSON that can be read: nested too deeply, or a number too long") from error


def _parse_definition(file: str, name: str, value: Any, strict: bool) -> Definition:
    where = f"{file}: enhanced service {_json_excerpt(name)}"
    try:
        if not is_service_name(name):
            raise _InvalidPart(f"a name of {NAME_WORDS} is allowed")
        if not isinstance(value, _JsonPairs):
            raise _InvalidPart(f"{_json_excerpt(value)}: an object of tags and parts is allowed")
        if unknown := [name for name, _ in value if name not in _NO_TAGS and not name.startswith(TAG_PREFIX)]:
            raise _InvalidPart(f"{_json_excerpt(unknown[0])}: no such tag or part; allowed are {_ALL_NAMES}")
        parts = _parsed_parts([(given, content) for given, content in value if given in PARTS])
        parameters = _parsed_parameters([content for given, content in value if given == PARAMETERS], parts)
        tags, discarded = _parsed_tags([(given, content) for given, content in value if given not in _NO_TAGS])
        if discarded and (strict or not (tags or parts.names)):
            raise _InvalidPart("; ".join(discarded))
        warnings = tuple(f"{where}: {reason}; the tag is discarded" for reason in discarded)
        return Definition(name=name, file=file, tags=tags, parts=parts, parameters=parameters, warnings=warnings)
    except _InvalidPart as wrong:
        return Definition(name=name[:SHOWN_CHARACTERS_MAX], file=file, problem=f"{where}: {wrong}")


def _parsed_parts(pairs: list[tuple[str, Any]]) -> Parts:
    """Return the typed parts of a definition, given as (name, content). Raises :class:`_InvalidPart` naming
    field, value and what is allowed.
    """
    if not pairs:
        return NO_PARTS
    found: dict[str, Any] = {}
    for name, content in _pairs_as_dicts(_JsonPairs(pairs)).items():
        try:
            found[name] = getattr(msgspec.convert({name: content}, Parts), name)
        except msgspec.ValidationError as error:
            raise _InvalidPart(f"{name}: {_json_excerpt(content)}: {part_problem(error)}") from error
    return Parts(**found)


def _parsed_parameters(contents: list[Any], parts: Parts) -> dict[str, ServiceParameter]:
    """Return ``{name: parameter}`` of a definition. Raises :class:`_InvalidPart` naming field, value and what is
    allowed.
    """
    if not contents:
        return {}
    if len(contents) > 1:
        raise _InvalidPart(f"{PARAMETERS}: given twice; once is allowed")
    content = _pairs_as_dicts(contents[0])
    try:
        return declared_parameters(content, parts)
    except ValueError as error:
        raise _InvalidPart(f"{PARAMETERS}: {error}") from error


def _pairs_as_dicts(value: Any) -> Any:
    """Convert JSON objects that were parsed as pairs to dictionaries, at all depths. Raises :class:`_InvalidPart` for a
    repeated name.
    """
    if isinstance(value, _JsonPairs):
        repeated = [name for name, times in Counter(name for name, _ in value).items() if times > 1]
        if repeated:
            raise _InvalidPart(f"{repeated[0]}: given twice; once is allowed")
        return {name: _pairs_as_dicts(content) for name, content in value}
    return [_pairs_as_dicts(one) for one in value] if isinstance(value, list) else value


def _parsed_tags(pairs: list[tuple[str, Any]]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return ``{tag: full paths of its BIG-IP objects}`` of the usable tags, and a text with the reason for
    each unusable tag, at most :data:`DISCARDED_MAX` texts. Of a tag that is given twice the first value
    counts.
    """
    found: dict[str, tuple[str, ...]] = {}
    discarded: list[str] = []
    for given, content in pairs:
        tag = OTHER_NAMES.get(given, given)
        try:
            if tag not in TAGS:
                raise _InvalidPart(f"{_json_excerpt(given)}: no such tag; allowed are {_ALL_NAMES}")
            if tag in found:
                raise _InvalidPart(f"{given}: given twice; once is allowed")
            found[tag] = _object_paths(given, tag, content)
        except _InvalidPart as wrong:
            if len(discarded) < DISCARDED_MAX:
                discarded.append(str(wrong))
    return found, discarded


def _object_paths(given: str, tag: str, content: Any) -> tuple[str, ...]:
    """Return the full paths of the objects that a tag's value names; none if the value removes the tag's
    profile. Raises :class:`_InvalidPart` for a value of another form, and for too many or repeated names.
    """
    known = TAGS[tag]
    if known.many:
        # _JsonPairs, the form of a JSON object, is a list, too.
        if not isinstance(content, list) or isinstance(content, _JsonPairs):
            raise _InvalidPart(f"{given}: {_json_excerpt(content)}: a list of names is allowed")
        if len(content) > LIST_MAX:
            raise _InvalidPart(f"{given}: {len(content)} names; at most {LIST_MAX} are allowed")
        paths = tuple(_object_path(given, one) for one in content)
        if len(set(paths)) != len(paths):
            raise _InvalidPart(f"{given}: {_json_excerpt(content)}: an object is named twice; once is allowed")
        return paths
    if content == "" and known.removable:
        return ()
    return (_object_path(given, content),)


def _object_path(given: str, content: Any) -> str:
    if not isinstance(content, str):
        raise _InvalidPart(f"{given}: {_json_excerpt(content)}: {_PATH_WORDS}")
    path = content if content.startswith("/") else f"{_FOLDER}{content}"
    if not _PATH_PATTERN.fullmatch(path) or any(part in (".", "..") for part in path.split("/")):
        raise _InvalidPart(f"{given}: {_json_excerpt(content)}: {_PATH_WORDS}")
    return path


def _json_excerpt(value: Any) -> str:
    """Return a value as it is shown in a message: a text in quotes, other values as JSON, cut to
    ``SHOWN_CHARACTERS_MAX`` characters.
    """
    plain = dict(value) if isinstance(value, _JsonPairs) else value
    text = repr(plain) if isinstance(plain, str) else json.dumps(plain, default=dict)
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"
