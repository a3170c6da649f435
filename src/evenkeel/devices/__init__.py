"""Device drivers: one folder each, behind the :class:`evenkeel.core.ports.Device` port.

An entry point of the group ``evenkeel.devices`` names a driver's function ``open_group(options, *,
environment, group_number, host) -> Device``. ``options`` are the typed values of the driver's configuration
section; None means not set. A wrong one raises :class:`ValueError` naming option, value and what is allowed.
The same module declares them: ``OPTIONS``, a list of oslo.config options with default, limits and help; the
value of an option named ``…_password_file`` is the password in that file. Environment and group number
identify the device's owner. Opening does no network I/O; ``check()`` does. Drivers never import each other;
all pass the contract tests in ``tests/devices/contract.py``.
"""
