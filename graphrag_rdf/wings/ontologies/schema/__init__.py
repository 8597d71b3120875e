"""What ontologies say: terms, those that a text needs, what holds by them."""
