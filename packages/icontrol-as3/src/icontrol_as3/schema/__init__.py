"""Checks of what a declaration may say: our own short rules for each class, not F5's JSON schema."""
