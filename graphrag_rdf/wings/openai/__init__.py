"""OpenAI's Chat Completions over the pipelines."""
