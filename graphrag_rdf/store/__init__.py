"""The store: a protocol, the embedded Oxigraph behind it, the librarian, migrations."""
