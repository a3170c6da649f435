"""Service definitions to wanted objects. Pure."""
