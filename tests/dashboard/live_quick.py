"""The product's own ASGI application with a quick heartbeat: what a page does not show moves its position only then."""

from dataclasses import replace

from dashboard.asgi import application
from dashboard.live import hub

hub.PACE = replace(hub.PACE, heartbeat_s=1.0)
__all__ = ["application"]
