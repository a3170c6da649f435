"""Checks of declarations: our own short rules for each class, not F5's JSON schema."""
