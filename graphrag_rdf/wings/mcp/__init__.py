"""The Model Context Protocol (https://modelcontextprotocol.io): the store as tools for other people's models.

`tools` is the table of tools, independent of the protocol; `protocol` offers them through the official
package (`mcp`, an extra).
"""
