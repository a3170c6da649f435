"""The type of a process's options."""

from collections.abc import Mapping, Sequence

from oslo_config import cfg

OptionGroups = Mapping[str | None, Sequence[cfg.Opt]]
"""Options by section; None is ``[DEFAULT]``."""
