"""These rules do not depend on the dialect."""

from tests.store.conftest import RULES_ON, databases

backend = databases(*RULES_ON)
