"""What single types do beyond their table."""
