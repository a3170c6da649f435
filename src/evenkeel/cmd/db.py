"""``evenkeel-db``: the schema of the database. Exit codes: 0 done, 1 an upgrade is needed, 2 refused or usage, 3 the
database is unavailable.

Controllers upgrade the schema themselves unless ``[database] auto_upgrade`` is false: then their database user needs no
rights to change tables, and an administrator runs ``evenkeel-db upgrade`` with another user before controllers of a new
version are started.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence

from oslo_config import cfg

from evenkeel.cmd.configuration.loading import file_arguments, load_configuration
from evenkeel.cmd.configuration.refusal import EXIT_CODE_REFUSED, print_refusal
from evenkeel.cmd.options.logging_options import LOGGING_OPTIONS
from evenkeel.cmd.options.options import DATABASE_OPTIONS
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store.engine.database import Database, open_database, url_without_password
from evenkeel.store.migrations import upgrade_tables
from evenkeel.store.migrations.administration import SchemaState, schema_state, set_schema_revision

COMMAND_NAME = "evenkeel-db"
DEFAULT_FILE = "/etc/evenkeel/controller.ini"
EXIT_CODE_UPGRADE_NEEDED = 1
EXIT_CODE_UNAVAILABLE = 3

Command = Callable[[Database, argparse.Namespace], Awaitable[int]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``evenkeel-db`` with the arguments ``argv`` (None: the process's). Exit codes: 0 done, 1 an upgrade
    is needed, 2 refused, 3 the database is unavailable.
    """
    arguments = _argument_parser().parse_args(argv)
    words = file_arguments(arguments.config_file or [DEFAULT_FILE])
    conf = None
    try:
        conf = load_configuration(COMMAND_NAME, words, groups={None: LOGGING_OPTIONS, "database": DATABASE_OPTIONS})
        return asyncio.run(_run_command(conf, arguments))
    except ValueError as error:
        return print_refusal(COMMAND_NAME, error, conf)
    except StoreUnavailable as error:
        # `orig` is the driver's error; the text of SQLAlchemy's own error would contain the statement, too.
        cause = str(getattr(error.__cause__, "orig", None) or error.__cause__ or "").partition("\n")[0]
        print(f"{COMMAND_NAME}: {error}{f': {cause}' if cause else ''}", file=sys.stderr)
        return EXIT_CODE_UNAVAILABLE


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND_NAME, description="The schema of the database.")
    parser.add_argument(
        "--config-file",
        action="append",
        default=[],
        metavar="FILE",
        help=f"ini file with [database] connection; several times, later ones win (default: {DEFAULT_FILE})",
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    for name, run, text in (
        ("version", _print_revisions, "show the revision in the database and the one that this version needs"),
        ("check", _check_schema, "exit code 1 if an upgrade is needed"),
        ("upgrade", _upgrade_schema, "upgrade the schema; controllers of the previous version go on working"),
    ):
        commands.add_parser(name, help=text).set_defaults(run=run)
    stamping = commands.add_parser("stamp", help="write a revision without changing tables, after a repair by hand")
    stamping.add_argument("revision")
    stamping.set_defaults(run=_stamp_schema)
    return parser


async def _run_command(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> int:
    database = open_database(conf.database.connection)
    run: Command = arguments.run
    try:
        print(f"database: {url_without_password(conf.database.connection)}", file=sys.stderr)
        return await run(database, arguments)
    finally:
        await database.close()


async def _print_revisions(database: Database, arguments: argparse.Namespace) -> int:
    state = await database.read(schema_state)
    print(f"{state.present or 'empty'} in the database, {state.needed} needed by this version")
    return 0


async def _check_schema(database: Database, arguments: argparse.Namespace) -> int:
    state = await database.read(schema_state)
    print(_schema_verdict(state))
    return 0 if state.usable else EXIT_CODE_UPGRADE_NEEDED


def _schema_verdict(state: SchemaState) -> str:
    if state.newer:
        return f"{state.present}: newer than this version needs ({state.needed}); it works with it"
    if state.usable:
        return f"{state.present}: up to date"
    return f"{state.present or 'empty'}: needs {', '.join(state.pending)}: run {COMMAND_NAME} upgrade"


async def _upgrade_schema(database: Database, arguments: argparse.Namespace) -> int:
    before = await database.read(schema_state)
    after = await database.write(upgrade_tables)
    print(f"{after}: {'upgraded' if before.pending else 'up to date'}")
    return 0


async def _stamp_schema(database: Database, arguments: argparse.Namespace) -> int:
    revision: str = arguments.revision
    try:
        await database.write(lambda connection: set_schema_revision(connection, revision))
    except ValueError as error:
        print(f"{COMMAND_NAME}: {error}", file=sys.stderr)
        return EXIT_CODE_REFUSED
    print(f"{revision}: written; no table was changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
