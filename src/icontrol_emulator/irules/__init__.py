"""iRules: as much of Tcl and of a device's commands as rules about requests and certificates are made of."""
