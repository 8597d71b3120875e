"""The steps of global, local and DRIFT search."""
