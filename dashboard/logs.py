"""Log lines leave the process with secrets masked. Imported by the logging set-up, so: no Django here."""

import logging

from tasks_app.domain.text import mask_secrets


class MaskSecrets(logging.Filter):
    """Masks keys of known formats in log lines before they leave the process."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the message by its masked form; never drops a record."""
        record.msg, record.args = mask_secrets(record.getMessage()), ()
        return True
