"""Health checks for containers: is this host's web server serving, does its worker send heartbeats?"""

import http.client

from tasks_app.selectors import workers
from tasks_app.services import hosts

TIMEOUT_S = 4.0


def web_is_healthy(port: int, *, host: str) -> bool:
    """Whether the sign-in page (or the redirect to TLS) is served to the host name `host`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/sign-in/", headers={"Host": host})
        return connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def worker_is_healthy() -> bool:
    """Whether a worker of this host has sent its heartbeat to the database lately."""
    return bool(workers.alive(host=hosts.this_host()))
