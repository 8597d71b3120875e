"""Facts, entities and mentions out of text: with a model, by rules, or as recorded by others."""
