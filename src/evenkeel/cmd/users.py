"""``evenkeel-users``: maintains the password file that controllers read with ``[identity] kind = password_file``.

Each command changes one thing of one user: ``add`` refuses an existing name, ``passwd`` keeps roles and project,
``roles`` keeps the password. The last administrator stays unless ``--force`` is given, because without an administrator
the controllers cannot be administered over the API. Passwords are read from the terminal or from standard input, never
from the command line, which other users can see.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from evenkeel.api.identity.users import User, checked_user, format_user_line, read_users
from evenkeel.api.policy.defaults import ADMINISTRATOR_ROLES, all_roles
from evenkeel.cmd.configuration.nearest import name_suggestion
from evenkeel.cmd.process.passwords import read_new_password
from evenkeel.core.kit.errors import Invalid
from evenkeel.serving.password_file import replace_line
from evenkeel.serving.password_hash import PasswordHash, hash_password, new_salt

DEFAULT_FILE = "/etc/evenkeel/users"
_NO_PASSWORD = PasswordHash(salt=b"", key=b"")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``evenkeel-users`` with the arguments ``argv`` (None: the process's). Exit codes: 0 done, 1
    refused, 2 usage.
    """
    options = _argument_parser().parse_args(argv)
    try:
        options.run(options)
    except (Invalid, OSError) as error:
        print(f"evenkeel-users: {options.file}: {error}", file=sys.stderr)
        return 1
    return 0


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evenkeel-users", description="Users of the password file.")
    parser.add_argument("--file", type=Path, default=Path(DEFAULT_FILE), help="default: %(default)s")
    commands = parser.add_subparsers(required=True, metavar="command")
    add = commands.add_parser("add", help="add a user; an existing name is refused")
    add.add_argument("name")
    add.add_argument("--project", required=True, help="the user's project")
    add.add_argument("--roles", default="member", help="with commas; default: %(default)s")
    _add_other_roles_option(add)
    _add_password_stdin_option(add)
    add.set_defaults(run=_add_user)
    passwd = commands.add_parser("passwd", help="change a user's password; project and roles stay")
    passwd.add_argument("name")
    _add_password_stdin_option(passwd)
    passwd.set_defaults(run=_change_password)
    change_roles = commands.add_parser("roles", help="replace a user's roles; project and password stay")
    change_roles.add_argument("name")
    change_roles.add_argument("roles", help="all roles of the user, with commas")
    _add_other_roles_option(change_roles)
    _add_force_option(change_roles)
    change_roles.set_defaults(run=_change_roles)
    delete = commands.add_parser("delete", help="delete a user")
    delete.add_argument("name")
    _add_force_option(delete)
    delete.set_defaults(run=_delete_user)
    commands.add_parser("list", help="list users, projects and roles").set_defaults(run=_list_users)
    return parser


def _add_other_roles_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--other-roles", action="store_true", help="accept roles that are named only in the controllers' policy file"
    )


def _add_password_stdin_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--password-stdin", action="store_true", help="read the password from standard input")


def _add_force_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--force", action="store_true", help="also if no administrator is left then")


def _add_user(options: argparse.Namespace) -> None:
    named = _checked_roles(options)
    # all but the password is checked before it is typed
    user = checked_user(options.name, options.project, named, _NO_PASSWORD)
    if user.name in (read_users(options.file) if options.file.exists() else {}):
        raise Invalid(
            f"user {user.name!r} exists. To change it: evenkeel-users passwd {user.name},"
            f" evenkeel-users roles {user.name} …"
        )
    _write_user(options.file, _user_with_new_password(user, options))


def _change_password(options: argparse.Namespace) -> None:
    user = _existing_user(read_users(options.file), options.name)
    _write_user(options.file, _user_with_new_password(user, options))


def _change_roles(options: argparse.Namespace) -> None:
    users = read_users(options.file)
    user = _existing_user(users, options.name)
    changed = checked_user(user.name, user.project_id, _checked_roles(options), user.hash)
    _check_administrator_left(users, {**users, user.name: changed}, options)
    _write_user(options.file, changed)


def _delete_user(options: argparse.Namespace) -> None:
    users = read_users(options.file)
    user = _existing_user(users, options.name)
    left = {name: other for name, other in users.items() if name != user.name}
    _check_administrator_left(users, left, options)
    replace_line(options.file, user.name, None)


def _list_users(options: argparse.Namespace) -> None:
    for user in read_users(options.file).values():
        print(f"{user.name}\t{user.project_id}\t{','.join(user.roles)}")


def _existing_user(users: Mapping[str, User], name: str) -> User:
    """Return the user of this name. Raises :class:`Invalid` if there is none, with the most similar name if
    there is one.
    """
    if name not in users:
        raise Invalid(f"no user {name[:64]!r}{name_suggestion(name, users)}.")
    return users[name]


def _user_with_new_password(user: User, options: argparse.Namespace) -> User:
    password = read_new_password(user.name, from_stdin=options.password_stdin)
    return replace(user, hash=hash_password(password, new_salt()))


def _write_user(file: Path, user: User) -> None:
    replace_line(file, user.name, format_user_line(user))


def _checked_roles(options: argparse.Namespace) -> list[str]:
    """Return the roles on the command line. Raises :class:`Invalid` for one that no rule of the default policy names,
    unless ``--other-roles`` is given.
    """
    named: list[str] = options.roles.split(",")
    known = all_roles()
    for role in (each.strip() for each in named):
        if role and role not in known and not options.other_roles:
            raise Invalid(
                f"roles: {role[:64]!r} is not one of {', '.join(sorted(known))} (--other-roles accepts those of a"
                f" policy file){name_suggestion(role, known)}"
            )
    return named


def _check_administrator_left(
    before: Mapping[str, User], after: Mapping[str, User], options: argparse.Namespace
) -> None:
    """Raise :class:`Invalid` if the change from ``before`` to ``after`` takes the last administrator away and
    ``--force`` is not given.
    """
    # Where there was no administrator before, the change takes none away.
    if options.force or not any(map(_is_administrator, before.values())) or any(map(_is_administrator, after.values())):
        return
    raise Invalid(
        f"user {options.name!r} is the last one with a role of an administrator"
        f" ({', '.join(sorted(ADMINISTRATOR_ROLES))}); controllers could not be administered"
        " then (--force does it all the same)."
    )


def _is_administrator(user: User) -> bool:
    return not ADMINISTRATOR_ROLES.isdisjoint(user.roles)


if __name__ == "__main__":
    sys.exit(main())
