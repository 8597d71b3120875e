"""The Model Context Protocol (https://modelcontextprotocol.io): the store as tools for other people's models.

`tools` is the table of tools, which knows nothing of the protocol; `protocol` tells it to the official
package (`mcp`, an extra); `http` serves it as a route, `stdio` over standard input and output.
"""
