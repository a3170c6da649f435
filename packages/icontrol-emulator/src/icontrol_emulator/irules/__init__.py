"""iRules: the subset of Tcl and of F5's commands for rules about requests and certificates."""
