"""The agent: configures one device group for the shards that it owns.

The database determines which shards it owns (a hint only triggers a request), its lease how long that is valid, and the
guard on the device decides.
"""
