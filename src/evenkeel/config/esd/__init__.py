"""F5's files of enhanced service definitions (ESD): format and reading.

Used by the agent, whose BIG-IPs hold the named objects, and by the command line.
"""
