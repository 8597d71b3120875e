"""What the steps of the pipelines write into traces, and how it is shown: a module for each kind of node."""
