"""The documentation is run, compared with the code it is made from, and looked over for dead links."""
