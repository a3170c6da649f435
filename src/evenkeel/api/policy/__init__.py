"""Authorization: oslo.policy rules with Octavia's names, operators' overrides, and decisions per caller."""
