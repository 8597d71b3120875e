"""What pages for people share: rendered here, usable without JavaScript, nothing of texts unescaped.

`rendering` has the templates and problems as pages, `lists` the pages of lists, `links` the address of each
thing.
"""
