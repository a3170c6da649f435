"""The device daemon: runs beside HAProxy on a host and makes it a device that several agents can manage.

It alone owns HAProxy's files, processes and sockets. Agents send it configurations over HTTPS (:mod:`wire`). It records
on disk the newest epoch of each partition and refuses requests of older owners. Each partition has a HAProxy of its own
(master and workers). The package imports only Even Keel's core, ``serving`` and ``metrics``.
"""
