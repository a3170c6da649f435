"""Enhanced service definitions (ESD): F5's JSON files that name objects of the operator in /Common, and what is known
of those objects. They are read, never created, changed or deleted.
"""
