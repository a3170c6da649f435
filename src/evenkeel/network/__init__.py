"""Where VIPs come from: adapters behind the ``Network`` port."""
