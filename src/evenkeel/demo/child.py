"""``python child.py PARENT_PID COMMAND…``: become COMMAND, and die when the parent does.

Started by path, without site packages, so that it costs little. On Linux the kernel kills the process when the thread
that started it ends, whatever ends it; elsewhere only an orderly end of the parent takes its children along.
"""

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Bind this process to its parent's life, then turn into the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the kernel was asked
            sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606  # the demo's own command; a shell would add nothing


if __name__ == "__main__":
    main()
