"""The no-op driver configures nothing, so it accepts every feature of the API."""

from evenkeel.core.capabilities import EVERYTHING

CAPABILITIES = EVERYTHING
