"""The store: a protocol, the embedded Oxigraph behind it, the blob store, migrations."""
