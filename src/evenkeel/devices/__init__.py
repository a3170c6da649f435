"""Device drivers: one folder each, behind the :class:`evenkeel.core.ports.Device` port.

A driver is found by an entry point of the group ``evenkeel.devices`` that names a function ``open_group(options, *,
environment, group_number, host) -> Device``. ``options`` are the values of the driver's own section, in their types;
None stands for what is not set. A wrong one raises :class:`ValueError` naming option, value and what is allowed. The
same module declares them: ``OPTIONS``, a list of oslo.config options with default, limits and help; an option called
``…_password_file`` comes as the password in it. Environment and group number tell the device whose it is. Opening does
no I/O over the network: ``check()`` does.
Drivers know the core and ``evenkeel.config`` only, and never each other; all pass the contract tests in
``tests/devices/contract.py``.
"""
