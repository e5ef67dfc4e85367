"""Console, the web user interface: static files without a build step, and the router that serves them.

The page calls the same `/v1` paths as any other client, with the user's key. Nothing here reads the store or knows a
secret.
"""

from tamis.service.http.console.router import router

__all__ = ["router"]
