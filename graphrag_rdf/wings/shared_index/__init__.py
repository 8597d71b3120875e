"""Search indexes that one process makes and many read."""
