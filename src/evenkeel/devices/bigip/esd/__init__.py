"""Enhanced service definitions (ESD), which name objects of the operator in /Common, and their state on the devices.

These objects are read, never created, changed or deleted.
"""
