"""Strangers against both servers: the controllers' API and the daemon beside HAProxy.

``python -m tests.fuzz --seconds 600 [--connections 500] [--seed N]`` starts real processes (a controller on SQLite and
the embedded bus, three agents, the daemon with HAProxy) and, in a process of its own, so many clients at once that
send no HTTP, half of it, too much of it, or nothing, over TCP and TLS. All on 127.0.0.0/8. It prints what came of the
honest clients and the agents meanwhile, and fails if a promise was not kept.
"""
