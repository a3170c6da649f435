"""F5's files of enhanced service definitions (ESD): their format, and reading them. Used by the agent, whose BIG-IPs
hold what the definitions name, and by the command line.
"""
