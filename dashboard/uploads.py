"""How much a request may bring: files of any form are counted too, which Django's own limit leaves out."""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler

IMPORTS = ("/teams/import/file/", "/api/teams/import")
"""The addresses that take the file of a team."""


class Bounded(FileUploadHandler):
    """Stands first in `FILE_UPLOAD_HANDLERS`: refuses a form that is too large before any of its files is stored."""

    def handle_raw_input(
        self, input_data: Any, META: dict[str, Any], content_length: int, boundary: str, encoding: str | None = None
    ) -> None:
        """Raise `RequestDataTooBig`, which is answered with 413 in words."""
        if content_length > most(self.request.path if self.request else ""):
            raise RequestDataTooBig(f"{content_length} bytes")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass everything on to the handlers that store it."""
        return raw_data

    def file_complete(self, file_size: int) -> "UploadedFile[Any] | None":
        """Leave the file to them."""
        return None


def most(path: str) -> int:
    """Return how many bytes a form to this address may have."""
    return settings.IMPORT_MB * 2**20 if path in IMPORTS else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
