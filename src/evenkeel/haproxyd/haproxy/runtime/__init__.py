"""Runtime API of a running HAProxy: commands, parsing of answers, and detection of manual changes (drift)."""
