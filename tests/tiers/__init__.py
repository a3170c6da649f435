"""The runner behind ``scripts/test``: checks and tests in tiers, tests that fail now and then, durations."""
