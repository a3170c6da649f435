"""The controller's work besides the API: hints, scheduling, callbacks, sweeping.

All controllers do this work concurrently, without a leader: compare-and-set in the store settles conflicting
decisions. Only notifications are sent by one controller at a time.
"""
