"""Encodings of files: those that Python and Java know alike, each by one name."""

from __future__ import annotations

ENCODINGS = (
    "utf-8", "us-ascii", "iso-8859-1", "iso-8859-2", "iso-8859-5", "iso-8859-7", "iso-8859-9",
    "iso-8859-15", "windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254",
    "windows-1256", "koi8-r", "ibm437", "ibm850", "ibm852", "utf-16", "utf-16le", "utf-16be",
    "utf-32", "utf-32le", "utf-32be", "shift_jis", "euc-jp", "iso-2022-jp", "gbk", "gb18030",
    "big5", "euc-kr",
)  # fmt: skip
ENCODING_NAMES = {
    **{name: name for name in ENCODINGS},
    "utf8": "utf-8", "ascii": "us-ascii", "latin1": "iso-8859-1", "latin-1": "iso-8859-1",
    "latin2": "iso-8859-2", "latin9": "iso-8859-15", "cp1250": "windows-1250",
    "cp1251": "windows-1251", "cp1252": "windows-1252", "cp437": "ibm437", "cp850": "ibm850",
    "cp852": "ibm852", "utf16": "utf-16", "utf-16-le": "utf-16le", "utf-16-be": "utf-16be",
    "sjis": "shift_jis", "shift-jis": "shift_jis",
}  # fmt: skip
"""By every name that is taken, in small letters."""
