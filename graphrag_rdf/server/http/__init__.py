"""Parts of HTTP, and what every request passes.

| module | holds |
|---|---|
| `envelope`, `guard`, `access`, `throttle`, `metrics` | the middleware before the routes |
| `negotiation` | formats, and which one a client gets |
| `parameters`, `body`, `questions` | checked input of clients |
| `problems`, `events` | errors and events as they are sent |
"""
