"""Parts that all processes share: logs, reloading of options, metrics endpoint, service manager."""
