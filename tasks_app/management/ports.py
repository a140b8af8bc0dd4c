"""Ports of this machine: whether one is free, who has it, and whether a web server answers there."""

import http.client
import socket

import psutil

from tasks_app.domain.errors import Invalid, Unavailable

HOST = "127.0.0.1"
BACKLOG = 512
"""So many connections wait while every web server is being started again."""


def valid(port: int) -> int:
    """Return the port. Raises `Invalid` where it is none."""
    if not 1 <= port <= 65535:
        raise Invalid(f"--port {port} is not a port number: use 1024 to 65535.", field="port")
    return port


def listen(port: int) -> socket.socket:
    """Return a socket that listens on `port`, for web servers to share: connections wait in it while one is started again.

    Raises `Unavailable` that names the holder and the way out, or `Invalid`.
    """
    valid(port)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)  # another server may have been faster: nobody waits in accept
    except PermissionError:
        listener.close()
        raise Unavailable(f"Port {port} needs more rights: use a port from 1024 on, such as --port 8400.", field="port") from None
    except OSError:
        listener.close()
        raise Unavailable(
            f"Port {port} is in use{_holder(port)}. End that program or use another port, such as --port {_free_near(port)}.",
            field="port",
        ) from None
    return listener


def _free_near(port: int) -> int:
    for candidate in range(port + 1, min(port + 50, 65536)):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            if probe.connect_ex((HOST, candidate)) != 0:
                return candidate
    return 8400


def _holder(port: int) -> str:
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.pid and tuple(connection.laddr)[1:2] == (port,):
                return f" by {psutil.Process(connection.pid).name()} (process {connection.pid})"
    except psutil.Error:
        return ""  # only the owner may know
    return ""


def web_answers(port: int, *, timeout_s: float = 1.0) -> bool:
    """Whether a web server answers on `port`, whatever it says."""
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout_s)
    try:
        connection.request("HEAD", "/sign-in/")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
