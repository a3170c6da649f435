from typing import Any

from sqlalchemy import Connection

from evenkeel.store.engine.operations import query_operation, read_operation, write_operation


class Database:
    def __init__(self) -> None:
        self.runs: list[str] = []

    async def read(self, op: Any) -> Any:
        self.runs.append("read")
        return op("connection")

    async def write(self, op: Any) -> Any:
        self.runs.append("write")
        return op("connection")

    async def query(self, op: Any) -> Any:
        self.runs.append("query")
        return op("connection")


def shown(connection: Connection, one: int, *, two: int = 2) -> str:
    return f"{connection} {one} {two}"


class Store:
    def __init__(self, database: Database) -> None:
        self._db = database

    found = read_operation(shown)
    asked = query_operation(shown)
    changed = write_operation(shown)


async def test_declared_method_runs_its_function_with_the_arguments_in_one_operation_of_its_kind() -> None:
    database = Database()
    store = Store(database)
    assert await store.found(1) == "connection 1 2"
    assert await store.asked(1, two=3) == "connection 1 3"
    assert await store.changed(4) == "connection 4 2"
    assert database.runs == ["read", "query", "write"]
