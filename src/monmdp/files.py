"""Files that appear whole or not at all, and survive a power failure."""

import contextlib
import errno
import os
import re
import socket
import uuid
from pathlib import Path

from monmdp.errors import MonMDPError

#: This machine in the names of temporary files.
HOST = re.sub(r"\W+", "-", socket.gethostname())[:60]
#: Folders whose entries in the folders above them are on disk; each process makes sure of that once.
_DURABLE: set[Path] = set()


class WriteError(MonMDPError):
    """A file that could not be written, such as on a full disk."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file beside the path and rename it: readers see a whole file or none.

    When this function returns, the file survives a power failure: its bytes, its name and its folders are on disk.
    """
    path = Path(os.path.abspath(path))
    partial = path.with_name(f".{uuid.uuid4().hex}.{HOST}.{os.getpid()}.partial")
    try:
        if not os.path.isdir(path.parent):
            _DURABLE.difference_update(path.parents)  # they may have been removed since
            path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        new = []
        for folder in path.parents:
            _sync_folder(folder)
            if folder in _DURABLE:
                break
            new.append(folder)
        _DURABLE.update(new)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        with contextlib.suppress(OSError, ValueError):
            partial.unlink()
        raise WriteError(f"{path} cannot be written: {getattr(error, 'strerror', error)}.") from None


def _sync_folder(folder: Path) -> None:
    """Wait until the entries of a folder are on disk; nothing where the system cannot do that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.EROFS, errno.EISDIR):
            raise
