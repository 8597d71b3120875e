"""Retrievers for other frameworks. Each module needs the framework that it is named after."""
