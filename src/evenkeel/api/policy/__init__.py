"""Who may do what: oslo.policy rules with Octavia's names, operators' overrides, and a verdict per caller."""
