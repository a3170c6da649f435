import errno
import io
import os

import pytest
import structlog

from evenkeel.cmd.process.descriptor_exhaustion import is_out_of_files, shorten_exhaustion_event
from evenkeel.core.kit.errors import StoreUnavailable


@pytest.fixture
def written() -> io.StringIO:
    """What is logged, as text."""
    return io.StringIO()


def logger(out: io.StringIO) -> structlog.typing.FilteringBoundLogger:
    processors = [shorten_exhaustion_event, structlog.processors.format_exc_info, structlog.processors.LogfmtRenderer()]
    made: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(structlog.WriteLogger(out), processors)
    return made


def test_a_loop_without_file_descriptors_reports_it_and_shows_no_traceback(written: io.StringIO) -> None:
    try:
        try:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        except OSError as error:
            raise StoreUnavailable("the database is out of reach") from error
    except StoreUnavailable:
        logger(written).exception("bug", part="sweeper")
    assert written.getvalue().strip() == 'part=sweeper event="out of file descriptors" during=bug'


def test_everything_else_is_logged_as_it_was(written: io.StringIO) -> None:
    try:
        raise OSError(errno.ENOENT, "no such file")
    except OSError as error:
        logger(written).error("bug", exc_info=error)
    logger(written).info("fine")
    assert "Traceback" in written.getvalue() and "event=fine" in written.getvalue()


def test_causes_that_lead_round_in_a_circle_end() -> None:
    one, other = ValueError(), ValueError()
    one.__cause__, other.__cause__ = other, one
    assert not is_out_of_files(one)
