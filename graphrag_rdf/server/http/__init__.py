"""Parts of HTTP, and what every request passes.

| module | holds |
|---|---|
| `envelope`, `guard`, `access` | the middleware before the routes |
| `negotiation` | formats, and which one a client gets |
| `body`, `questions` | checked input of clients |
| `problems`, `events` | errors and events as they are sent |
"""
