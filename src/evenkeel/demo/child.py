"""``python child.py PARENT_PID COMMAND…`` executes COMMAND in its place; the process ends with its parent.

Started by path, without site packages, so that it costs little. On Linux the kernel kills the process when the thread
that started it ends, for whatever reason; elsewhere children end only if the parent stops in an orderly way.
"""

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Bind this process to its parent's lifetime, then execute the command in its place. Exit code 1 if the
    parent is gone.
    """
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before prctl took effect
            sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606  # the demo's own command; a shell would add nothing


if __name__ == "__main__":
    main()
