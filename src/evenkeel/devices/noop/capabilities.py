"""The no-op driver does nothing, and so everything."""

from evenkeel.core.capabilities import EVERYTHING

CAPABILITIES = EVERYTHING
