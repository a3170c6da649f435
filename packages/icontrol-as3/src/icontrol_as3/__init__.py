"""F5's AS3 on the devices of icontrol-emulator: declarations become the emulator's own configuration.

    Emulator(extensions=[icontrol_as3.As3])

README.md lists the classes and properties; everything else is refused by name.
"""

from __future__ import annotations

__version__ = "0.1.0"

from icontrol_as3.extension import As3

__all__ = ["As3", "__version__"]
