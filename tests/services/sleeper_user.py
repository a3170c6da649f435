"""``python -m tests.services.sleeper_user DIRECTORY``: a worker that uses the shared sleeper until its input ends, and
prints the server's process id."""

import sys
from pathlib import Path

from tests.services.sharing import shared
from tests.services.sleeper import START_SECONDS, start_sleeper

if __name__ == "__main__":
    with shared(Path(sys.argv[1]), start_sleeper, start_seconds=START_SECONDS) as place:
        print(place["pid"], flush=True)
        sys.stdin.read()
