"""Browsers that are open and do not read: the socket is there, the page behind it is asleep, or takes a kilobyte a second."""

import base64
import contextlib
import os
import socket
import threading
from urllib.parse import quote, urlsplit

SMALL = 4096
"""Bytes that the kernel takes for such a browser: what is beyond stays with the server."""


class Sleeper:
    """One of them; `slow`: it reads a kilobyte a second."""

    def __init__(self, url: str, since: str, cookie: str, *, slow: bool = False) -> None:
        parts = urlsplit(url)
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        self._socket.settimeout(20)
        self._socket.connect((parts.hostname, parts.port))
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {parts.path}?{parts.query}&since={quote(since)} HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Origin: http://{parts.netloc}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
            f"Cookie: {cookie}",
        ]
        self._socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        if b" 101 " not in self._socket.recv(SMALL).split(b"\r\n")[0]:
            raise RuntimeError("the socket was refused")
        self._over = threading.Event()
        if slow:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while not self._over.wait(1.0) and self._socket.recv(1024):
                pass

    def close(self) -> None:
        """Go away."""
        self._over.set()
        self._socket.close()
