"""Real traffic: listeners for virtual servers, balancing over pool members, monitors."""
