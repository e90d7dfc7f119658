"""What may be said of a source's files: paths, formats, names, times, and how much may be
malformed.

Rules over texts, the same for whoever compiles, admits, reads or infers a source; nothing here
opens a file. Open ``log_formats`` first, then ``globs``.

It may touch what ``plan`` may, and no room beside it.
"""
