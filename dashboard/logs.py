"""Log lines leave the process with secrets masked. Imported by the logging set-up, so: no Django here."""

import logging
import traceback

from tasks_app.domain.text import mask_secrets


class MaskSecrets(logging.Filter):
    """Masks keys of known formats in log lines before they leave the process."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace message and traceback by their masked form; never drops a record."""
        record.msg, record.args = mask_secrets(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            # a formatter takes the text where there is one, and does not format the traceback once more
            record.exc_text = mask_secrets("".join(traceback.format_exception(record.exc_info[1])).rstrip())
        return True
