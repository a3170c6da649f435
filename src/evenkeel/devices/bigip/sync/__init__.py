"""Sync mode: devices that synchronise their configuration themselves. Which are allowed, which one is written, and the
push.
"""
