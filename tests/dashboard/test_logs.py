"""Log lines: keys of known formats never leave the process, neither in the message nor in a traceback."""

import io
import logging

from dashboard.logs import MaskSecrets

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


def test_a_key_is_masked_in_the_message_and_in_the_traceback() -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.addFilter(MaskSecrets())
    logger = logging.Logger("masked")
    logger.addHandler(handler)
    try:
        raise ValueError(f"refused {KEY}")
    except ValueError:
        logger.exception("the key %s was refused", KEY)
    assert KEY not in written.getvalue()
    assert written.getvalue().count("sk-ant-") == 2
    assert "ValueError" in written.getvalue()
