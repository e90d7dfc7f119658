"""Names of compressed files: which are expanded, by whom, and which nobody here expands.

One list for all: what is taken for input is what can be read. A name that is unknown to Spark is
read as plain text, garbage in; so xz, which it does not know, is expanded before. Its codecs for
``.lz4`` and ``.snappy`` read a framing that only Hadoop writes; what the programs of those names
write makes it reserve memory until the JVM ends. Such files are left alone and named.
"""

BY_SPARK = (".gz", ".bz2", ".zst")
"""Expanded by Spark's text reader."""
EXPANDED = (*BY_SPARK, ".xz")
NOT_EXPANDED = (
    ".zip",
    ".lz4",
    ".snappy",
    ".sz",
    ".deflate",
    ".7z",
    ".rar",
    ".lzma",
    ".lz",
    ".lzo",
    ".br",
    ".z",
    ".tgz",
    ".tbz2",
    ".txz",
)
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


def expanded_suffix(name: str) -> str:
    """The suffix that says how a file of this name is expanded; empty: it is not.

    >>> expanded_suffix("a.csv.gz"), expanded_suffix("a.csv.XZ"), expanded_suffix("a.csv.zip")
    ('.gz', '.xz', '')
    """
    return next((suffix for suffix in EXPANDED if name.lower().endswith(suffix)), "")
