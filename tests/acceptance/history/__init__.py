"""Real processes, faults every few seconds, clients that write, one history file, and a checker over it.

``python -m tests.acceptance.history --minutes 5`` runs it; ``--check FILE`` judges a history once more.
"""
