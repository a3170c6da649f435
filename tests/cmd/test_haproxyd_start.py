"""What the HAProxy daemon loads before it serves."""

import subprocess
import sys

OF_OTHERS = ("evenkeel.api", "evenkeel.bus", "evenkeel.core.ports", "evenkeel.network", "evenkeel.store")


def test_the_daemon_starts_without_the_modules_of_controllers_and_agents() -> None:
    script = "import sys, evenkeel.cmd.haproxyd; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert "evenkeel.haproxyd.daemon" in loaded
    assert [name for name in loaded if name.startswith(OF_OTHERS)] == []
