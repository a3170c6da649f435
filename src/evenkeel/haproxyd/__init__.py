"""The device daemon: runs beside HAProxy on a host and makes it a device that several agents may manage.

It alone owns HAProxy's files, processes and sockets. Agents hand it configurations over HTTPS (:mod:`wire`); it keeps
the newest epoch of each partition on disk and refuses older owners. One HAProxy (master and worker) per partition.
It imports nothing of Even Keel but the core's values.
"""
