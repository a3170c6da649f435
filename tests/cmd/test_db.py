"""``evenkeel-db``, and controllers whose user may not change tables."""

import contextlib
import sqlite3
import subprocess
from pathlib import Path

import pytest

from evenkeel.cmd.db import main
from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.store.migrations import schema_revisions
from evenkeel.store.options import StoreOptions
from evenkeel.store.sql_store import open_store
from tests.services.postgres import SharedPostgreSQL

NEWEST = schema_revisions()[-1]


class Admin:
    def __init__(self, folder: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._file = folder / "admin.ini"
        self._file.write_text(f"[database]\nconnection = {url}\n[api]\nbind_port = 1\n")
        self._capsys = capsys

    def run(self, *words: str) -> tuple[int, str]:
        code = main(["--config-file", str(self._file), *words])
        self.said = self._capsys.readouterr()
        return code, self.said.out.strip()


def test_an_administrator_upgrades_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    admin = Admin(tmp_path, f"sqlite:///{tmp_path}/x.db", capsys)
    assert admin.run("version") == (0, f"empty in the database, {NEWEST} needed by this version")
    code, said = admin.run("check")
    assert code == 1 and said == f"empty: needs {', '.join(schema_revisions())}: run evenkeel-db upgrade"
    assert admin.run("upgrade") == (0, f"{NEWEST}: upgraded")
    assert admin.run("upgrade") == (0, f"{NEWEST}: up to date")
    assert admin.run("check") == (0, f"{NEWEST}: up to date")
    assert admin.run("stamp", "x")[0] == 2 and "'x' is not one of v0001 to" in admin.said.err
    assert admin.run("stamp", NEWEST) == (0, f"{NEWEST}: written; no table was changed")


@pytest.mark.parametrize("command", ["version", "check", "upgrade"])
def test_a_database_of_a_development_version_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = Admin(tmp_path, f"sqlite:///{tmp_path}/x.db", capsys)
    assert admin.run("upgrade")[0] == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = '0036'")
        database.commit()
    assert admin.run(command)[0] == 2
    assert "revision 0036 of a development version" in admin.said.err and "drop the database" in admin.said.err


def test_a_database_out_of_reach_and_a_wrong_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    admin = Admin(tmp_path, "postgresql://u:s3cret@127.0.0.1:1/x", capsys)
    assert admin.run("check")[0] == 3
    assert "evenkeel-db: " in admin.said.err and "s3cret" not in admin.said.err + admin.said.out
    assert Admin(tmp_path, "oracle://x", capsys).run("check")[0] == 2
    assert main(["--config-file", "/not/there", "check"]) == 2


@pytest.mark.services
async def test_a_controllers_user_needs_no_rights_to_change_tables(
    postgresql: SharedPostgreSQL, postgresql_database: str, tmp_path: Path
) -> None:
    def sql(statement: str) -> None:
        psql = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", postgresql_database, "-c", statement]
        subprocess.run(psql, check=True, timeout=60)

    name = postgresql_database.rpartition("/")[2]
    user = f"user_{name}"
    sql(f"CREATE ROLE {user} LOGIN")
    url = postgresql_database.replace("postgres@", f"{user}@")
    limited = open_store(url, StoreOptions(auto_upgrade=False))
    try:
        with pytest.raises(StoreUnavailable, match="run evenkeel-db upgrade"):
            await limited.start()
        administrator = open_store(postgresql_database)
        await administrator.start()
        await administrator.close()
        sql(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {user}")
        sql(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {user}")
        await limited.start()
        assert limited.schema_revision == NEWEST
        await limited.operators.add_environment(Environment(name="prod", device_driver="noop"))
        assert [each.name for each in await limited.operators.environments()] == ["prod"]
    finally:
        await limited.close()
        sql(f"DROP OWNED BY {user}")
        sql(f"DROP ROLE {user}")
