"""Protection of all servers of this project against unauthenticated clients: limits and time-outs of connections,
password files, and the queue of password checks. Independent of HTTP and of the served content.
"""
