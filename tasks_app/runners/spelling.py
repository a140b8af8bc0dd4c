"""How files are spelled where upper and lower case, and the ways to write an accent, do not tell names apart: on a Mac."""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path


def folded(name: str) -> str:
    """Return what two spellings of one file have in common."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def ignored_in(folder: Path) -> bool:
    """Whether the file system that holds `folder` takes its name in the other case for the same file."""
    other = folder.with_name(folder.name.swapcase())
    try:
        # a link of that name proves nothing: it may be there on any file system
        return other.name != folder.name and not other.is_symlink() and os.path.samefile(folder, other)
    except OSError:
        return False


def on_disk(folder: Path, name: str) -> str:
    """Return the path `name` within `folder` as the disk spells it; what is not there stays as it is given."""
    spelled = Path()
    for part in Path(name).parts:
        try:
            entries = os.listdir(folder / spelled)
        except OSError:
            entries = []
        spelled /= part if part in entries else like(part, entries)
    return str(spelled)


def like(name: str, names: Iterable[str]) -> str:
    """Return that of `names` which is `name` in another spelling, else `name`."""
    return next((each for each in names if folded(each) == folded(name)), name)
