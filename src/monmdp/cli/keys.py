"""Single key presses in a terminal, without waiting for them."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from types import TracebackType


class Keys:
    """A context in which `pressed` yields single keys; without a terminal there are none."""

    def __enter__(self) -> Keys:
        self._settings = None
        if sys.stdin.isatty():
            with contextlib.suppress(ImportError):
                import termios
                import tty

                self._settings = termios.tcgetattr(sys.stdin)
                tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._settings is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._settings)

    def pressed(self, wait: float) -> Iterator[str]:
        """Keys typed within the next `wait` seconds."""
        if self._settings is None:
            return
        while select.select([sys.stdin], [], [], wait)[0]:
            typed = os.read(sys.stdin.fileno(), 1024)  # past Python's buffer, which `select` does not know
            if not typed:
                return
            yield from typed.decode(errors="ignore")
            wait = 0.0
