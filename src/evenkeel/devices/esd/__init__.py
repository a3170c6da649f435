"""Enhanced services (ESD) of agents, shared by the drivers that offer them: reads the files, tracks users and
changes.
"""
