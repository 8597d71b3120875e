"""Components of HTTP, and what every request passes.

| module | holds |
|---|---|
| `envelope`, `guard`, `access`, `throttle`, `metrics` | what stands before the routes |
| `negotiation`, `formats` | which format a client gets |
| `parameters`, `body`, `forms`, `questions` | what clients send, checked |
| `problems`, `events` | errors and events, as they are sent |
| `offers` | offers to go over to another protocol |
"""
