"""Keys are heard on a terminal, and the terminal is left as it was found."""

from __future__ import annotations

import io
import os
import pty
import termios

from headwater.cli.show.pressed_keys import PressedKeys


def test_keys_are_heard_at_once_and_the_terminal_is_as_before() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "r") as terminal:
        before = termios.tcgetattr(terminal)
        with PressedKeys(terminal) as keys:
            assert keys.read() == ""
            os.write(master, b"nx")
            assert keys.read() == "nx", "nobody has to press Enter"
            assert keys.read() == ""
            assert not termios.tcgetattr(terminal)[3] & termios.ICANON
        assert termios.tcgetattr(terminal) == before
    os.close(master)


def test_without_a_terminal_nobody_presses_anything() -> None:
    with PressedKeys(io.StringIO("n")) as keys:
        assert keys.read() == ""
