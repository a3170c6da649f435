"""The agent: configures one device group for the shards it owns.

It trusts nothing it was told more than it must: the database says what it owns (a hint only says "ask again"), its
lease says how long that may be believed, and the guard on the device has the last word.
"""
