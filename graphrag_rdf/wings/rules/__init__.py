"""Facts by the grammar of English, German, Dutch and Chinese, without a model."""
