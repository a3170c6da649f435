"""The data plane: listeners of virtual servers, load balancing over pool members, monitors."""
