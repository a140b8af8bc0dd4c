"""What a benchmark needs and this machine lacks: it cannot run here, which is no result."""


class NoChromium(Exception):
    """There is no Chromium; the text says how to get one."""
