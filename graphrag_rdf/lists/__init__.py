"""The lists of things in a store, each declared once as data.

A module declares a list by `register(List(...))`: its columns, filters and query. The command with its table,
the page, the JSON and the tool for models are derived from the declaration, see `cli.lists`,
`server.routes.lists` and `server.mcp.tools`. Adding a list touches one module.
"""
