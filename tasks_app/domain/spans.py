"""How long something takes, in words: never to be taken for a time of day."""

_UNITS = ((86_400, 3600), (3600, 60), (60, 1))


def span(seconds: float) -> str:
    """Return `7 s`, `10 min 7 s`, `2 h 5 min` or `3 days 4 h`: the two largest units, the second only where it is not 0."""
    whole = max(0, int(seconds))
    for unit, rest in _UNITS:
        if whole >= unit:
            many, few = whole // unit, whole % unit // rest
            return f"{many} {_name(unit, many)}" + (f" {few} {_name(rest, few)}" if few else "")
    return f"{whole} s"


def _name(unit: int, count: int) -> str:
    return {86_400: "day" if count == 1 else "days", 3600: "h", 60: "min", 1: "s"}[unit]
