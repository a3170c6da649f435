"""Octavia's provider driver and provider agent of Even Keel.

Octavia's database is authoritative. The driver only checks, inside Octavia's request, whether an environment
can do what is requested; the agent copies committed load balancers to Even Keel's controllers and reports
their statuses back.
"""

__version__ = "0.1.0"
