"""The start of a process of ours: settings that make no sense end it with a sentence, not with a traceback."""

import contextlib
from collections.abc import Iterator

from django.core.exceptions import ImproperlyConfigured


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Have the process end with exit code 1 and a sentence where the settings cannot be read."""
    try:
        yield
    except ImproperlyConfigured as error:
        raise SystemExit(settings_are_wrong(error)) from None


def settings_are_wrong(error: object) -> str:
    """Return the sentence."""
    return f"The settings are not right: {' '.join(str(error).split())}"
