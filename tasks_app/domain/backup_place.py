"""Where backups go: whether an address is one that can be used at all."""

import fsspec


def fault(url: str) -> str:
    """Return what is wrong with CREWDESK_BACKUP_URL, and what to do; "" where it can be used. Asks no server."""
    protocol, _, place = url.partition("://")
    if not protocol or "://" not in url:
        return "is no address: write file:///folder or s3://bucket/prefix"
    if not place.strip("/") or (protocol == "file" and not place.startswith("/")):
        return "names no folder or bucket: write file:///folder or s3://bucket/prefix"
    try:
        fsspec.get_filesystem_class(protocol)
    except ValueError:
        return f"begins with {protocol[:20]}://, which fsspec does not know: use file:// or s3://"
    except ImportError:
        how = "uv sync --extra s3" if protocol == "s3" else f"install the fsspec driver of {protocol[:20]}://"
        return f"begins with {protocol[:20]}://, whose driver is not installed: {how}"
    return ""
