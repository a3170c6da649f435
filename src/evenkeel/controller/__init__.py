"""The controller's work besides the API: hints, scheduling, callbacks, sweeping.

All controllers do all of it concurrently; there is no leader. Compare-and-set in the store settles conflicting
decisions.
"""
