"""One HAProxy: its configuration, its processes, and what is read from and told to a running one."""
