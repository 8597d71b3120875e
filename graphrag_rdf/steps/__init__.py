"""Pipeline steps: ground, explore, focus, synthesise. Each reads and adds to the state of a run."""
