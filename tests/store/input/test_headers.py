"""Chunks know the header of the file that they were cut from, wherever in it they begin."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from follow_kit import Follow
from store_kit import SOURCE, CubeUser

from headwater.reading.form import Form
from headwater.store.follow.poll import FollowConfig, Start
from headwater.store.input import cuts as cuts_module
from headwater.store.input.finite import FiniteInput

NAMED, FIELDS = Form(has_header=True), Form(has_fields_lines=True)


def heads(one: Follow) -> list[tuple[str, str]]:
    return [(chunk.header, chunk.path.read_text()) for chunk in one.chunks()]


def test_every_chunk_of_a_growing_file_has_its_header(follow: Callable[..., Follow]) -> None:
    one = follow(form=NAMED)
    one.write("a.log", "x,y\n1,2\n")
    one.write("b.log", "y,x\n3,4\n")
    one.poll()
    one.write("a.log", "5,6\n")
    one.poll()
    one.restart()
    one.write("b.log", "7,8\n")
    one.poll()
    assert heads(one) == [
        ("x,y", "x,y\n1,2\n"),
        ("y,x", "y,x\n3,4\n"),
        ("x,y", "5,6\n"),
        ("y,x", "7,8\n"),
    ]


def test_a_file_begun_at_its_end_has_the_header_of_its_beginning(
    follow: Callable[..., Follow],
) -> None:
    one = follow(form=NAMED, start=Start.END)
    one.write("a.log", "x,y\n1,2\n")
    one.poll()
    one.write("a.log", "3,4\n")
    one.poll()
    assert heads(one) == [("x,y", "3,4\n")]


def test_a_source_without_header_looks_for_none(one: Follow) -> None:
    one.write("a.log", "x,y\n1,2\n")
    one.poll()
    assert heads(one) == [("", "x,y\n1,2\n")]


def test_a_byte_order_mark_is_in_no_line(follow: Callable[..., Follow]) -> None:
    one = follow(form=NAMED)
    one.write("a.log", b"\xef\xbb\xbfx,y\n1,2\n")
    one.poll()
    one.write("a.log", b"3,\xef\xbb\xbf4\n")
    one.poll()
    assert heads(one) == [("x,y", "x,y\n1,2\n"), ("x,y", "3,\ufeff4\n")]


def test_columns_that_are_named_anew_in_the_middle_begin_a_chunk(
    follow: Callable[..., Follow],
) -> None:
    one = follow(form=FIELDS)
    one.write("a.log", "#Version: 1\n#Fields: a b\n1 2\n#Fields: a b\n3 4\n#Fields: b a\n5 6\n")
    one.poll()
    one.restart()
    one.write("a.log", "7 8\n#Fields: a b\n9 9\n")
    one.poll()
    assert heads(one) == [
        ("", "#Version: 1\n"),
        ("#Fields: a b", "#Fields: a b\n1 2\n#Fields: a b\n3 4\n"),
        ("#Fields: b a", "#Fields: b a\n5 6\n"),
        ("#Fields: b a", "7 8\n"),
        ("#Fields: a b", "#Fields: a b\n9 9\n"),
    ]


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("windows-1252", b""), ("utf-16le", b"\xff\xfe"), ("utf-8", b"\xef\xbb\xbf")],
)
def test_columns_are_named_in_the_encoding_of_the_file(
    follow: Callable[..., Follow], encoding: str, mark: bytes
) -> None:
    one = follow(form=Form(has_fields_lines=True, encoding=encoding))
    one.write("a.log", mark + "#Fields: a €\n1 ü\n#Fields: € a\n".encode(encoding))
    one.poll()
    one.restart()
    one.write("a.log", "3 4\n".encode(encoding))
    one.poll()
    assert heads(one) == [
        ("#Fields: a €", "#Fields: a €\n1 ü\n"),
        ("#Fields: € a", "#Fields: € a\n"),
        ("#Fields: € a", "3 4\n"),
    ]


def test_names_of_columns_hold_over_chunks_and_where_a_file_is_begun_late(
    follow: Callable[..., Follow],
) -> None:
    one = follow(form=FIELDS, start=Start.END, config=FollowConfig(20, 10))
    one.write("a.log", "#Fields: a\n")
    one.poll()
    one.write("a.log", "123456789\n" * 5)
    one.poll()
    assert {header for header, _ in heads(one)} == {"#Fields: a"}
    assert len(heads(one)) > 1


def test_a_finite_input_knows_the_header_of_each_file(user: CubeUser, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfx,y\n1,2\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"y,x\n3,4\n"))
    (tmp_path / "c.csv.gz").write_bytes(b"not at all")
    source = FiniteInput(user.cube.cuts, user.glob(tmp_path, "*.csv*"), source=SOURCE, form=NAMED)
    source.poll(now_s=1.0)
    chunks = user.cube.cuts.pending(SOURCE)
    assert [chunk.header for chunk in chunks] == ["x,y", "y,x", ""]
    assert all(chunk.is_file for chunk in chunks)


def test_more_headers_than_a_batch_may_have_come_with_the_next(
    follow: Callable[..., Follow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts_module, "HEADERS_MAX", 2)
    one = follow(form=NAMED)
    for number, header in enumerate(["x,y", "y,x", "x,y", "x,y,z"]):
        one.write(f"{number}.log", f"{header}\n")
    one.poll()
    cuts = one.user.cube.cuts
    assert [chunk.header for chunk in cuts.pending(SOURCE)] == ["x,y", "y,x", "x,y"]
    assert [chunk.header for chunk in cuts.pending(SOURCE, after_cut=3)] == ["x,y,z"]
