"""Learning the parameters of retrieval from what people marked, or from an evaluation set."""
