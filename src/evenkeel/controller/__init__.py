"""The controller's work besides the API: hints, scheduling, callbacks, sweeping.

All controllers do this work concurrently; there is no leader. Compare-and-set in the store settles conflicting
decisions.
"""
