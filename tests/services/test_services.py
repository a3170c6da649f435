"""The servers come up, survive being killed, and are emptied when asked."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import aio_pika
import asyncpg
import pytest

from tests.services.mariadb import MariaDB
from tests.services.postgres import PostgreSQL
from tests.services.rabbitmq import Broker, RabbitMQ

pytestmark = pytest.mark.services


async def test_rabbitmq_keeps_a_durable_queue_over_kill_and_loses_it_when_wiped(own_rabbitmq: RabbitMQ) -> None:
    queue = f"durable-{os.getpid()}"
    await _declare(own_rabbitmq.url, queue, passive=False)
    own_rabbitmq.kill()
    await asyncio.to_thread(own_rabbitmq.start)
    await _declare(own_rabbitmq.url, queue, passive=True)
    own_rabbitmq.stop()
    own_rabbitmq.wipe()
    own_rabbitmq.start()
    with pytest.raises(aio_pika.exceptions.ChannelNotFoundEntity):
        await _declare(own_rabbitmq.url, queue, passive=True)


def test_expressions_of_several_workers_are_evaluated_at_once(rabbitmq: Broker) -> None:
    with ThreadPoolExecutor(8) as workers:
        answers = list(workers.map(lambda number: rabbitmq.evaluate(f"timer:sleep(20), {number}"), range(64)))
    assert answers == [str(number) for number in range(64)]


async def _declare(url: str, queue: str, *, passive: bool) -> None:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        await channel.declare_queue(queue, durable=True, passive=passive, arguments={"x-queue-type": "quorum"})


async def test_postgresql_gives_each_caller_an_empty_database_and_survives_kill(own_postgresql: PostgreSQL) -> None:
    first, second = own_postgresql.create_database(), own_postgresql.create_database()
    await _execute(first, "CREATE TABLE marked (id int)")
    assert await _tables(second) == []
    own_postgresql.kill()
    await asyncio.to_thread(own_postgresql.start)
    assert await _tables(first) == ["marked"]
    own_postgresql.drop_database(first)
    own_postgresql.drop_database(second)


async def test_mariadb_gives_each_caller_an_empty_database_and_survives_kill(own_mariadb: MariaDB) -> None:
    first, second = own_mariadb.create_database(), own_mariadb.create_database()
    own_mariadb.sql(f"CREATE TABLE {first.rpartition('/')[2]}.marked (id int) ENGINE=InnoDB")
    own_mariadb.kill()
    await asyncio.to_thread(own_mariadb.start)
    assert own_mariadb.sql(f"SHOW TABLES IN {first.rpartition('/')[2]}").split() == ["marked"]
    assert own_mariadb.sql(f"SHOW TABLES IN {second.rpartition('/')[2]}") == ""
    own_mariadb.drop_database(first)
    own_mariadb.drop_database(second)


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _tables(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    finally:
        await connection.close()
    return [row["tablename"] for row in rows]
