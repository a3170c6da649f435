"""L7 policies of a listener: an LTM policy, or a part of the listener's iRule with a data group."""
