"""octavia-driver-agent with a prepared database layer: ``evenkeel-octavia driver-agent``.

driver-agent forks a process for each report. Each of these maps all of Octavia's models and creates a database engine,
which is most of what a report costs. Here the parent does both once, before it forks; the processes inherit them. It
opens no connection, so that none is shared and no database is needed at the start.
"""

import logging
import sys
from collections.abc import Sequence

LOG = logging.getLogger(__name__)


def run_driver_agent(arguments: Sequence[str]) -> None:
    """Run octavia-driver-agent with these command-line arguments until it ends."""
    from octavia.cmd import driver_agent

    sys.argv = ["octavia-driver-agent", *arguments]
    try:
        prepare_database(arguments)
    except Exception as error:
        # another Octavia may have another database layer: driver-agent works as well without
        LOG.warning("driver-agent runs without a prepared database layer: %s", error)
    driver_agent.main()


def prepare_database(arguments: Sequence[str]) -> None:
    """Load Octavia's database models and create its engine, before driver-agent forks. ``arguments``: name the
    configuration files, which must be read again afterwards.
    """
    from octavia.common import config
    from octavia.db import api, models
    from oslo_config import cfg
    from sqlalchemy import orm

    try:
        config.init(list(arguments))
        models.LoadBalancer  # noqa: B018  # the import has declared the models
        orm.configure_mappers()
        # oslo.db tests a new engine by as many connections as there are retries
        cfg.CONF.set_override("max_retries", 0, "database")
        api.get_engine()
    finally:
        # driver-agent reads its configuration itself, which is refused a second time
        cfg.CONF.clear()
        cfg.CONF.clear_override("max_retries", "database")
