"""Our APIs compared, request by request, with those that clients know: recorded tables, and what replays them."""
