"""The servers of a long run; tests take theirs from fixtures."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.services import rabbitmq

DATABASES = {"postgresql": "PostgreSQL", "mariadb": "MariaDB"}
_MODULES = {"postgresql": "tests.services.postgres", "mariadb": "tests.services.mariadb"}


@contextmanager
def running(database: str) -> Iterator[tuple[rabbitmq.RabbitMQ, Any, str] | str]:
    """A broker, a database server and the URL of an empty database; or why they cannot be started here."""
    module = importlib.import_module(_MODULES[database])
    if reason := rabbitmq.missing() or module.missing():
        yield reason
        return
    broker, server = rabbitmq.RabbitMQ(), getattr(module, DATABASES[database])()
    try:
        broker.start()
        server.start()
        yield broker, server, server.create_database()
    finally:
        broker.close()
        server.close()
