"""From the bytes of a file to lines and records: compression, encoding, headers, separators.

Functions of bytes, without disk or Spark: sites, the reference and tests read by the same ones.
Open ``form`` first, then ``text`` and ``records``.

It may touch ``plan`` and ``algebra``.
"""
