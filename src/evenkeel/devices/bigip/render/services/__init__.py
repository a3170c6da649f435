"""Parts of enhanced services as data groups and parts of a listener's iRule."""
