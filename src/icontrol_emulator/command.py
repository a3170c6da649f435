"""The console script: `icontrol-emulator`, which says what to install if something that it needs is not there."""

from __future__ import annotations

import sys


def main() -> int:
    try:
        from icontrol_emulator.__main__ import main as run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", __package__):
            raise
        print(
            f"icontrol-emulator: not installed: {missing}. Install what it needs: pip install 'evenkeel[emulator]'",
            file=sys.stderr,
        )
        return 2
    return run()
