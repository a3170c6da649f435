"""What processes say is one line an event, whatever is in it."""

import subprocess
import sys

SAYING = """
import sys
import structlog
from evenkeel.cmd.runtime import set_up_logs
set_up_logs(debug=False, name="test")
log = structlog.get_logger()
log.warning("refused", reason="a\\r\\nlevel=error event=forged", name="\\x1b[2J\\u202egone", number=1)
try:
    raise ValueError("x\\x1b[31m\\r")
except ValueError as error:
    log.error("failed", exc_info=error)
"""


def test_texts_of_others_begin_no_line_and_give_no_orders() -> None:
    done = subprocess.run([sys.executable, "-c", SAYING], capture_output=True, check=True)
    said = done.stderr.decode()
    assert len(said.strip().split("\n")) == 2, said
    assert all(character.isprintable() or character == "\n" for character in said), said
    assert "forged" in said and "gone" in said and "number=1" in said
