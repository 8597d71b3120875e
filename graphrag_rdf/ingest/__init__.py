"""From documents to facts in the store: plan, extract, write, retract."""
