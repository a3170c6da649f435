"""Use cases of all APIs: rules, conversion of requests to core values, creates and changes."""
