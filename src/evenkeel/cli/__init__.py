"""The ``evenkeel`` command for operators: an HTTP client of the operators' API."""
