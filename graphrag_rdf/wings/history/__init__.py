"""Earlier states of a store."""
