"""The commands of docs/how-to/run-the-database.md for backing up and restoring, run as they are written there."""

import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

from evenkeel.core.control.environments import Environment
from evenkeel.store.sql_store import open_store
from tests.services.mariadb import SharedMariaDB

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "run-the-database.md"


def command(beginning: str) -> str:
    """The line of the page's section that begins so, without its comment."""
    section = PAGE.read_text().partition("## Back up and restore\n")[2]
    (line,) = re.findall(rf"^{beginning} .*$", section, re.MULTILINE)
    return str(line).partition("  #")[0].strip()


async def _names(url: str) -> list[str]:
    store = open_store(url)
    try:
        await store.start()
        return [each.name for each in await store.operators.environments()]
    finally:
        await store.close()


async def _add(url: str, name: str) -> None:
    store = open_store(url)
    try:
        await store.start()
        await store.operators.add_environment(Environment(name=name, device_driver="noop"))
    finally:
        await store.close()


def run(command: str, folder: Path, **environment: str) -> None:
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.services
async def test_postgresql(postgresql_database: str, tmp_path: Path) -> None:
    await _add(postgresql_database, "before")
    run(command("pg_dump"), tmp_path, DATABASE=postgresql_database)
    await _add(postgresql_database, "after")
    run(command("pg_restore"), tmp_path, DATABASE=postgresql_database)
    assert await _names(postgresql_database) == ["before"]


@pytest.mark.services
async def test_mariadb(mariadb: SharedMariaDB, mariadb_database: str, tmp_path: Path) -> None:
    await _add(mariadb_database, "before")
    (tmp_path / ".my.cnf").write_text(f"[client]\nhost=127.0.0.1\nport={mariadb.port}\nuser=root\n")
    name = mariadb_database.rpartition("/")[2].partition("?")[0]
    dump = command("mariadb-dump").replace(" evenkeel", f" {name}")
    run(dump, tmp_path, HOME=str(tmp_path))
    await _add(mariadb_database, "after")
    run(command("mariadb").replace("mariadb evenkeel", f"mariadb {name}"), tmp_path, HOME=str(tmp_path))
    assert await _names(mariadb_database) == ["before"]


async def test_sqlite(tmp_path: Path) -> None:
    file = tmp_path / "evenkeel.db"
    url = f"sqlite:///{file}"
    await _add(url, "before")
    statement = re.findall(r'"(VACUUM .*)"', command("sqlite3"))[0]
    connection = sqlite3.connect(file)
    connection.execute(statement.replace("evenkeel.copy", str(tmp_path / "evenkeel.copy")))
    connection.close()
    await _add(url, "after")
    run(command("cp").replace("/var/lib/evenkeel/evenkeel.db", str(file)), tmp_path)
    assert await _names(url) == ["before"]
