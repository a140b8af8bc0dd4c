"""Log lines leave the process with secrets masked. Imported by the logging set-up, so: no Django here."""

import logging
import re
import traceback

from tasks_app.domain.text import MASK, mask_secrets

LINK = re.compile(r"(?i)(sign-in(?:/|%2F))[^\s/?&%\"'<>]+")
"""The address of a one-time link (dashboard/urls.py), as a path or within another address: who has it is signed in by it."""


class MaskSecrets(logging.Filter):
    """Masks keys of known formats and sign-in links in log lines before they leave the process."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace message and traceback by their masked form; never drops a record."""
        record.msg, record.args = _masked(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            # a formatter takes the text where there is one, and does not format the traceback once more
            record.exc_text = _masked("".join(traceback.format_exception(record.exc_info[1])).rstrip())
        return True


def _masked(text: str) -> str:
    return LINK.sub(rf"\1{MASK}", mask_secrets(text))
