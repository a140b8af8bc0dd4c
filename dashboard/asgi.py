"""The ASGI application: pages through Django (static files through its WhiteNoise middleware), and the live socket."""

import os
from importlib import import_module

from channels.routing import ProtocolTypeRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

from tasks_app import own_memory
from tasks_app.loading import uncollected
from tasks_app.starting import in_words

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
with uncollected(), in_words():
    own_memory.keep_private()
    django = get_asgi_application()  # loads the apps: what follows imports models
    import_module("dashboard.urls")  # the pages: else the first visitor waits for them, and the collector looks through them

from dashboard import open_files, spooling
from dashboard.forwarded import Forwarded
from dashboard.live import shutdown
from dashboard.routing import websocket
from dashboard.underway import Underway
from dashboard.uploads import Bounded

open_files.allow_many()
pages = Underway(Forwarded(Bounded(django, turns=not spooling.bound()), settings.PROXIES))
shutdown.watch(pages)
application = ProtocolTypeRouter({"http": pages, "websocket": websocket, "lifespan": shutdown.lifespan})
