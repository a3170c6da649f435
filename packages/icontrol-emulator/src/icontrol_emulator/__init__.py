"""An emulator of BIG-IP devices: iControl REST, a data plane that carries traffic, failover and fault injection.

See USAGE.md for the command line, the Python API and the control API.
"""

from __future__ import annotations

from icontrol_emulator.device import DeviceSpec
from icontrol_emulator.emulator import Emulator
from icontrol_emulator.faults import Fault
from icontrol_emulator.tls import TlsFiles

__all__ = ["DeviceSpec", "Emulator", "Fault", "TlsFiles", "__version__"]

__version__ = "0.1.0"
