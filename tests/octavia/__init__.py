"""Our provider inside a stock Octavia: its API, driver-agent and database, with controllers, an agent and HAProxy."""
