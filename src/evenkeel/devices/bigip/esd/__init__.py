"""Enhanced service definitions (ESD) that name objects of the operator in /Common: what the devices know of them. These
objects are read, never created, changed or deleted.
"""
