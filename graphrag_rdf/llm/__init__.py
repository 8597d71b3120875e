"""All that talks to language models, embedding models and rerankers: over litellm, and only here."""
