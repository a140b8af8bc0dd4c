"""The ASGI application: pages through Django (static files through its WhiteNoise middleware), and the live socket."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django = get_asgi_application()  # loads the apps: what follows imports models

from dashboard import open_files  # noqa: E402
from dashboard.live import shutdown  # noqa: E402
from dashboard.routing import websocket  # noqa: E402
from dashboard.underway import Underway  # noqa: E402

open_files.allow_many()
pages = Underway(django)
shutdown.watch(pages)
application = ProtocolTypeRouter({"http": pages, "websocket": websocket, "lifespan": shutdown.lifespan})
