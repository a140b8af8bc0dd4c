"""What a service is: one process to keep alive."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Service:
    """One process to keep alive, started as `python -m …`."""

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str]
    cwd: Path
    keep: tuple[int, ...] = ()  # open files that it inherits
    loads: tuple[str, ...] = ()  # modules that it needs long to load: a spare is kept that has loaded them
