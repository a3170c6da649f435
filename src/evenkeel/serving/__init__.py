"""What every server of ours does about strangers: how many connections they may hold, for how long, and whose turn it
is to have a password checked. Knows neither HTTP nor what is served."""
