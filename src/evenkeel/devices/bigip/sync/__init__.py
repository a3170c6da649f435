"""Sync mode, in which devices copy their configuration to each other: allowed device groups, the device that
is written, and the push.
"""
