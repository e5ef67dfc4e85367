"""The console in the browser: static files without a build step, and the router that serves them.

The page talks to the same `/v1` paths as everybody else, with the key that its reader gave it. Nothing here reads the
store or knows a secret.
"""

from tamis.service.http.console.router import router

__all__ = ["router"]
