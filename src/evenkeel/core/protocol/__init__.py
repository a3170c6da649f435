"""Messages between controllers and agents."""
