"""The commands of all processes, one module each, with their options and configuration. This package wires
the others together.
"""

import gc

COLLECTOR_THRESHOLDS = (50_000, 20, 100)
"""Thresholds of the garbage collector's three generations in all processes: a list of 1,000 load balancers creates many
thousand objects, none of them cyclic, which the interpreter's own thresholds would have scanned repeatedly."""
# here, because the import of all modules of a process makes no garbage either
gc.set_threshold(*COLLECTOR_THRESHOLDS)
