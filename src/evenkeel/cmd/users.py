"""``evenkeel-users``: writes the password file that controllers read with ``[identity] kind = password_file``.

Passwords are read from the terminal or from standard input, never from the command line, which other users can see.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evenkeel.api.identity.users import checked_user, line_of, read_users
from evenkeel.api.policy.defaults import roles
from evenkeel.cmd.configuration.nearest import meant
from evenkeel.cmd.passwords import new_password
from evenkeel.core.errors import Invalid
from evenkeel.serving.password_file import put_line, replace_line
from evenkeel.serving.password_hash import PasswordHash, hash_password, new_salt

DEFAULT_FILE = "/etc/evenkeel/users"


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point: 0 done, 1 refused, 2 usage."""
    options = _parser().parse_args(argv)
    try:
        options.run(options)
    except (Invalid, OSError) as error:
        print(f"evenkeel-users: {options.file}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evenkeel-users", description="Users of the password file.")
    parser.add_argument("--file", type=Path, default=Path(DEFAULT_FILE), help="default: %(default)s")
    commands = parser.add_subparsers(required=True, metavar="command")
    add = commands.add_parser("add", help="add or change a user")
    add.add_argument("name")
    add.add_argument("--project", required=True, help="the user's project")
    add.add_argument("--roles", default="member", help="with commas; default: %(default)s")
    add.add_argument(
        "--other-roles", action="store_true", help="accept roles that only the controllers' policy file knows"
    )
    add.add_argument("--password-stdin", action="store_true", help="read the password from standard input")
    add.set_defaults(run=_add)
    delete = commands.add_parser("delete", help="delete a user")
    delete.add_argument("name")
    delete.set_defaults(run=_delete)
    commands.add_parser("list", help="list users, projects and roles").set_defaults(run=_list)
    return parser


def _add(options: argparse.Namespace) -> None:
    # check names before asking for the password
    if not options.other_roles:
        _check_roles(options.roles.split(","))
    checked_user(options.name, options.project, options.roles.split(","), PasswordHash(salt=b"", key=b""))
    password = new_password(options.name, from_stdin=options.password_stdin)
    user = checked_user(
        options.name,
        options.project,
        options.roles.split(","),
        hash_password(password, new_salt()),
    )
    put_line(options.file, user.name, line_of(user), read_users)


def _check_roles(named: Sequence[str]) -> None:
    """Raises :class:`Invalid` for a role that no rule of the default policy names."""
    known = roles()
    for role in (each.strip() for each in named):
        if role and role not in known:
            raise Invalid(
                f"roles: {role[:64]!r} is not one of {', '.join(sorted(known))} (--other-roles accepts those of a"
                f" policy file){meant(role, known)}"
            )


def _delete(options: argparse.Namespace) -> None:
    if options.name not in read_users(options.file):
        raise Invalid(f"no user {options.name!r}.")
    replace_line(options.file, options.name, None)


def _list(options: argparse.Namespace) -> None:
    for user in read_users(options.file).values():
        print(f"{user.name}\t{user.project_id}\t{','.join(user.roles)}")


if __name__ == "__main__":
    sys.exit(main())
