"""Names of compressed files: which Spark's text reader expands, and which nobody here does.

One list for all: what is taken for input is what can be read. A name that is unknown to Spark is
read as plain text, garbage in. Its codecs for ``.lz4`` and ``.snappy`` read a framing that only
Hadoop writes; what the programs of those names write makes it reserve memory until the JVM ends.
Such files are left alone and named.
"""

EXPANDED = (".gz", ".bz2", ".zst", ".deflate")
"""By Spark's text reader."""
NOT_EXPANDED = (
    ".xz", ".zip", ".lz4", ".snappy", ".sz", ".7z", ".rar", ".lzma", ".lz", ".lzo", ".br", ".z",
    ".tgz", ".tbz2", ".txz",
)  # fmt: skip
"""Compressed all the same."""
WHY_LEFT_ALONE = (
    f"can't be expanded here; expand it, or compress it as one of {', '.join(EXPANDED)}"
)


def is_compressed(name: str) -> bool:
    """
    >>> is_compressed("access.log.2.XZ"), is_compressed("access.log.2")
    (True, False)
    """
    return name.lower().endswith(EXPANDED + NOT_EXPANDED)


def can_be_read(name: str) -> bool:
    """
    >>> can_be_read("a.csv"), can_be_read("a.csv.gz"), can_be_read("a.csv.zip")
    (True, True, False)
    """
    return not is_compressed(name) or bool(expanded_suffix(name))


def expanded_suffix(name: str) -> str:
    """The suffix by which Spark knows how to expand a file of this name; empty if it does not.

    >>> expanded_suffix("a.csv.gz"), expanded_suffix("a.csv.GZ"), expanded_suffix("a.csv.xz")
    ('.gz', '.gz', '')
    """
    return next((suffix for suffix in EXPANDED if name.lower().endswith(suffix)), "")
