"""The controller process: its API server, workers and parts."""
