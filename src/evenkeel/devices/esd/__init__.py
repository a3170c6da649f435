"""Enhanced services (ESD) of agents, shared by the drivers that offer them: reads the files, checks the
definitions, and tracks which load balancers use them.
"""
