"""The controller's work besides the API: hints, scheduling, callbacks, sweeping.

Every controller does all of it at the same time as every other; none is special. Whatever two of them decide at
once is settled by compare-and-set in the store.
"""
