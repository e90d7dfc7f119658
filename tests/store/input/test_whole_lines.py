"""Cutting bytes at line ends."""

from hypothesis import given
from hypothesis import strategies as st

from headwater.store.input.whole_lines import whole_lines

texts = st.binary(max_size=200).map(lambda data: bytes(b"\n"[0] if b < 60 else b for b in data))


def read_in_blocks(text: bytes, block_bytes: int, line_bytes_max: int) -> tuple[bytes, int, int]:
    """(kept, skipped lines, position) of reading ``text`` as a follower does."""
    kept, skipped, position, skipping = b"", 0, 0, False
    for _ in range(len(text) + 2):
        block = text[position : position + block_bytes]
        stretch = whole_lines(block, line_bytes_max=line_bytes_max, skipping=skipping)
        if stretch.consumed == 0:
            break
        kept += b"".join(block[start:end] for start, end in stretch.kept)
        position += stretch.consumed
        skipped += stretch.skipped_lines
        skipping = stretch.skipping
    return kept, skipped, position


@given(texts, st.integers(1, 20), st.integers(1, 30))
def test_whatever_the_blocks_all_lines_that_fit_are_kept_in_order(
    text: bytes, line_bytes_max: int, more: int
) -> None:
    kept, skipped, _ = read_in_blocks(text, line_bytes_max + more, line_bytes_max)
    lines = text[: text.rfind(b"\n") + 1].split(b"\n")[:-1]
    rest = text[text.rfind(b"\n") + 1 :]
    fitting = [line for line in lines if len(line) <= line_bytes_max]
    assert kept == b"".join(line + b"\n" for line in fitting)
    too_long = len(lines) - len(fitting) + (len(rest) > line_bytes_max)
    assert skipped == too_long


def test_an_unfinished_line_is_left_alone() -> None:
    assert whole_lines(b"one\ntw", line_bytes_max=9, skipping=False).consumed == 4


def test_a_line_that_never_ends_is_stepped_over_without_being_kept_in_memory() -> None:
    kept, skipped, position = read_in_blocks(b"x" * 1000 + b"\nnext\n", 16, 8)
    assert (kept, skipped, position) == (b"next\n", 1, 1006)
