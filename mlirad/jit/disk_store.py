"""Entries on disk: bytes under a name, each sealed by a checksum. A damaged or unreadable file does not count.

Reads and writes: one directory, which other processes use at the same time, and which other users may not write.
Leaves: complete entries only: an entry is written to a temporary file and then renamed. No error of the file system is
raised: the worst result is a missing entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import stat
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"mlirad entry 1\n\0"
"""The beginning of an entry. Another number means another format, which is ignored."""
_SEAL_BYTES = 32
_SUFFIX, _PARTIAL = ".entry", ".partial"
_NAME = re.compile(r"[0-9a-f]{32,64}(-[0-9]+)?")
_STALE = 3600.0  # seconds after which a partial file is abandoned
LIMIT = 256 << 20
"""How many bytes the entries may take together; the least recently used are removed first."""

_partials = itertools.count()


@dataclass(frozen=True)
class Census:
    """The contents of a directory: the number of entries, their bytes, and how many checked entries were damaged."""

    entries: int
    size: int
    damaged: int = 0


def sealed(name: str, content: bytes) -> bytes:
    """An entry's file: the seal covers its name too, so a moved or copied file does not count."""
    return MAGIC + _seal(name, content) + content


def _seal(name: str, content: bytes) -> bytes:
    seal = hashlib.blake2b(name.encode(), digest_size=_SEAL_BYTES)
    seal.update(b"\0")
    seal.update(content)
    return seal.digest()


def unsealed(name: str, data: bytes) -> bytes | None:
    """The content of an entry's file; None if it is damaged, or belongs to another entry."""
    start = len(MAGIC) + _SEAL_BYTES
    if len(data) < start or not data.startswith(MAGIC):
        return None
    content = data[start:]
    return content if data[len(MAGIC) : start] == _seal(name, content) else None


class Store:
    """Entries in a directory, which is created with the first one. Names are hexadecimal, and may end in -n."""

    def __init__(self, root: Path, limit: int = LIMIT):
        self.root = root
        self.limit = limit
        self._lock = threading.Lock()
        self._size: int | None = None  # of all entries that this process knows
        self._has_warned = False

    def refusal(self) -> str | None:
        """Why the directory is not used; None if it is trusted, or does not exist yet."""
        try:
            status = os.stat(self.root)
        except OSError:
            return None
        return _why_not_trusted(status) if stat.S_ISDIR(status.st_mode) else None

    def _is_trusted(self) -> bool:
        """Whether only the user can put code here. If not, a warning says so, once."""
        why = self.refusal()
        if why is not None and not self._has_warned:
            self._has_warned = True
            warnings.warn(f"mlirad does not cache code in {self.root}, and runs none from there: {why}", stacklevel=2)
        return why is None

    def get(self, name: str) -> bytes | None:
        """The content of an entry, which now counts as used. A damaged entry is removed."""
        path = self._path(name)
        data = self._read(path)
        if data is None:
            return None
        content = unsealed(name, data)
        if content is None:
            _remove(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content

    def put(self, name: str, content: bytes) -> bool:
        """Write an entry, replacing one of that name. Returns whether that worked."""
        data = sealed(name, content)
        if len(data) > self.limit or not self._is_trusted():
            return False
        partial = self.root / f"{name}.{os.getpid()}.{next(_partials)}{_PARTIAL}"
        try:
            with os.fdopen(self._create(partial), "wb") as file:
                file.write(data)
            os.replace(partial, self._path(name))
        except BaseException as error:
            _remove(partial)
            if isinstance(error, OSError):
                return False
            raise
        self._account(len(data))
        return True

    def age(self, name: str) -> float | None:
        """When an entry was last used, in seconds; None if there is no such entry."""
        try:
            return self._path(name).stat().st_mtime
        except OSError:
            return None

    def drop(self, name: str) -> None:
        """Remove an entry."""
        _remove(self._path(name))

    def census(self) -> Census:
        """All entries."""
        sizes = [status.st_size for _, status in self._files()]
        return Census(len(sizes), sum(sizes))

    def verify(self) -> Census:
        """Read every entry, and remove damaged ones. Returns what is left."""
        sizes: list[int] = []
        damaged = 0
        for path, _ in list(self._files()):
            data = self._read(path)
            if data is None:
                continue  # it is gone, or may not be read
            if unsealed(path.name.removesuffix(_SUFFIX), data) is None:
                damaged += 1
                _remove(path)
            else:
                sizes.append(len(data))
        return Census(len(sizes), sum(sizes), damaged)

    def clear(self) -> int:
        """Remove all entries and partial files. Returns how many entries there were. Other files stay."""
        count = 0
        for path, _ in list(self._files()):
            count += _remove(path)
        for path, _ in list(self._files(_PARTIAL)):
            _remove(path)
        self._size = None
        return count

    def trim(self) -> None:
        """Remove partial files of killed processes, and the least recently used entries beyond the limit."""
        now = time.time()
        for path, status in list(self._files(_PARTIAL)):
            if abs(now - status.st_mtime) > _STALE:
                _remove(path)
        files = sorted(self._files(), key=lambda each: each[1].st_mtime)
        size = sum(status.st_size for _, status in files)
        if size > self.limit:
            for path, status in files:
                if size <= self.limit * 0.8:  # so that this does not run for each entry
                    break
                if _remove(path):
                    size -= status.st_size
        self._size = size

    def _account(self, added: int) -> None:
        # Without waiting: the thread that holds it may belong to the process that this one was forked from.
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._size is not None:
                self._size += added
            if self._size is None or self._size > self.limit:
                self.trim()
        finally:
            self._lock.release()

    def _path(self, name: str) -> Path:
        return self.root / f"{name}{_SUFFIX}"

    def _create(self, path: Path) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        try:
            return os.open(path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(self.root, 0o700, exist_ok=True)
            return os.open(path, flags, 0o600)

    def _read(self, path: Path) -> bytes | None:
        """A regular file that only the user or the administrator can have written: other code is not run."""
        if not self._is_trusted():
            return None
        try:
            # Non-blocking: a named pipe would wait for a writer.
            with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > self.limit:
                    return None
                if _why_not_trusted(status) is not None:
                    return None
                return file.read()
        except OSError:
            return None

    def _files(self, suffix: str = _SUFFIX) -> Iterator[tuple[Path, os.stat_result]]:
        """The files of that kind that are named like entries."""
        try:
            with os.scandir(self.root) as found:
                for each in found:
                    if each.name.endswith(suffix) and _NAME.fullmatch(each.name.partition(".")[0]):
                        with contextlib.suppress(OSError):
                            status = each.stat(follow_symlinks=False)
                            if stat.S_ISREG(status.st_mode):
                                yield Path(each.path), status
        except OSError:
            return


def _why_not_trusted(status: os.stat_result) -> str | None:
    """Why another user may have written a file, or into a directory; None if only this one and the administrator can.

    A group with write access is the user's own if it has the user's number: most systems give every user such a group.
    """
    if not hasattr(os, "getuid"):
        return None
    if status.st_uid not in (os.getuid(), 0):
        return "it belongs to another user; set MLIRAD_CACHE_DIR to a directory of yours"
    is_sticky_directory = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)
    if is_sticky_directory:
        return None  # like /tmp: users can only replace their own files, and other users' files are not read
    is_own_group = status.st_gid == os.getgid() == os.getuid()
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not is_own_group):
        mode = stat.S_IMODE(status.st_mode)
        return f"other users may write there (mode {mode:o}); chmod go-w, or set MLIRAD_CACHE_DIR to another directory"
    return None


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
