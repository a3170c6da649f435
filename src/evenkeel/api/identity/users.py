"""Users of the API in a password file: lines ``user:project:roles:hash`` (:mod:`evenkeel.serving.password_file`)."""

import re
from collections.abc import Iterable
from pathlib import Path

from evenkeel.api.identity.caller import checked_project, distinct_roles
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.serving.password_file import WatchedFile, is_valid_name, parse_lines, read_private
from evenkeel.serving.password_hash import PasswordHash, format_hash, parse_hash

MAX_USERS = 10_000

_ROLE_PATTERN = re.compile(r"[A-Za-z0-9._-]{1,64}")


class User(Value):
    """A user of the API: one line of the password file, with the hash of the password."""

    name: str
    project_id: ProjectId
    roles: tuple[str, ...]
    hash: PasswordHash


def checked_user(name: str, project_id: str, roles: Iterable[str], hash: PasswordHash) -> User:
    """Return a user whose name, project and roles are allowed; roles are sorted. Raises :class:`Invalid`
    naming the field.
    """
    if not is_valid_name(name):
        raise Invalid(f"user: {name[:64]!r} is not 1 to 64 letters, digits, dots, dashes, underscores and @.")
    known = distinct_roles(roles)
    for role in known:
        if not _ROLE_PATTERN.fullmatch(role):
            raise Invalid(f"roles: {role[:64]!r} is not 1 to 64 letters, digits, dots, dashes and underscores.")
    return User(name=name, project_id=checked_project(project_id, "project"), roles=known, hash=hash)


def format_user_line(user: User) -> str:
    """Format the user as a line of the password file, without a line break."""
    return f"{user.name}:{user.project_id}:{','.join(user.roles)}:{format_hash(user.hash)}"


def parse_user_line(line: str) -> User:
    """Parse the user of a line. Raises :class:`Invalid`, whose text contains nothing of the hash."""
    parts = line.split(":")
    if len(parts) != 4:
        raise Invalid(f"{len(parts)} fields. Allowed: user:project:roles:hash.")
    name, project_id, roles, secret = parts
    return checked_user(name, project_id, roles.split(","), parse_hash(secret))


def parse_users(text: str) -> dict[str, User]:
    """Parse the text of a password file; return users by name. Raises :class:`Invalid` naming the line's
    number for a bad line, a duplicate name, or more than :data:`MAX_USERS` users.
    """
    users: dict[str, User] = {}
    for number, user in parse_lines(text, parse_user_line):
        if user.name in users:
            raise Invalid(f"line {number}: user {user.name!r} is there twice.")
        users[user.name] = user
        if len(users) > MAX_USERS:
            raise Invalid(f"line {number}: more than {MAX_USERS} users.")
    return users


def read_users(path: Path) -> dict[str, User]:
    """Read the users of a file. Raises :class:`OSError`; :class:`Invalid` for bad lines, too large a file, or one that
    others may read.
    """
    return parse_users(read_private(path))


def watched_users(path: Path) -> WatchedFile[dict[str, User]]:
    """Return the users of a file, which :meth:`WatchedFile.refresh` reloads after a change. Raises
    :class:`ValueError` naming file and line.
    """
    return WatchedFile("identity.password_file", path, read_users)
