"""JSON lines with all sorts of values in them, and such that are none, for who parses strictly."""

from __future__ import annotations

import random

TOKENS = [
    "0", "-0", "5", "-5", "+5", "05", "127", "128", "-129", "32768", "2147483648", "1777636800",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551615",
    "1777636800000", "1.5", "1.0", "1.", ".5", "-", "1e5", "1E5", "1e-5", "1e400", "-1e400",
    "1e-400", "4.9e-324", "0.0", "-0.0", "0e5", "-0e5", "NaN", "-NaN", "Infinity", "-Infinity",
    "Inf", "-Inf", "INF", "0.1", "16777217", "3.4028236e38", "1e39", "9007199254740993",
    "1.000000059604644775390625", "1.00000017881393432617187499", "0.30000000000000004",
    "123456789012345678901234567890", "1.17549429e-38", "8.5e-46", "7e-46", "253402300800", "0x1F",
    "true", "false", "True", "null", "nul", "{}", "[]", '{"a":1}', "[1,2]", '"a"', '""', '" "',
    r'"\u0041\n\t\"\\\/"', r'"\ud83d\ude00"', r'"\ud800"', r'"\udc00"', r'"\u0000"', r'"\x"',
    '"ä😀"', '"a\tb"', "'a'", '"unended', '"x" "y"', "1 2", '"2026-05-01T12:00:00Z"',
    '"2026-05-01 12:00:00.123456"', '"2026-05-01T12Z"', '"2026-05-01"', '"12:00:00"',
    '"2024-02-29T00:00:00Z"', '"2026-02-29T00:00:00Z"', '"2026-05-01T12:00:00+02:00"', '"0x1F"',
    '"0001-01-01T00:00:00Z"', '"10000-01-01T00:00:00Z"', '"2026-05-01T12:00:00.1234567Z"',
    '"5"', '" 5"', '"+5"', '"1.5"', '"NaN"', '"1e5"', '"true"', '"yes"', '"1777636800"', '"1d"',
    r'"\u0035"', '"5', "Infinit", "/* 5 */ 5", "5 // five", "5,", '5,"v":6', '5,"v":null',
    "1" * 1001, f"{'1' * 999}.5", "[" * 999 + "]" * 999, "[" * 998 + "]" * 998,
]  # fmt: skip
SIGNS = ' \t0123456789+-.eE"\\{}[]:,nuNIaä\x0b\x00'


def lines_with(tokens: list[str]) -> list[str]:
    """Each token as the value, as one that nobody wants, and in other lines."""
    lines = [f'{{"n":{at},"v":{token}}}' for at, token in enumerate(tokens)]
    lines += [f'{{"w":{token},"n":7}}' for token in tokens]
    lines += [
        '{"n":1}{"n":2}', '{"n":1}null', '{"n":1} x}', '{"n":1}}', ' {"n":1}', '{"n":1} ', "{}",
        '{"\\u006e":1}', '{"n":1,"n":2}', '{"w":1,"w":2,"n":1}', '{"N":1}', '{"n":1', '{"n":1,}',
        '{n:1}', "{'n':1}", '{"n" : 1 , "v":null}', '{"":1,"n":1}', "null", "[]", '[{"n":1},{}]',
        "7", "x", '\ufeff{"n":1}', '{"n":1}\x00', '{"n":1}\x00{}', '{"n":1,"w":"\x01"}', "{}{}{}",
        '{"n":1}//}', '/**/{"n":1}', f'{{"{"k" * 50_001}":1,"n":1}}', f'{{"{"k" * 49_000}":1}}',
        f'{{"w":"{"k" * 70_000}","n":1}}', '{"n":{"n":1}}', '{"n":1}\u2028', '{"n":[{"n":2}]}',
    ]  # fmt: skip
    return lines


def mutated(lines: list[str], count: int) -> list[str]:
    chance = random.Random(11)
    short = [line for line in lines if len(line) < 200]
    found = []
    for _ in range(count):
        line = chance.choice(short)
        at = chance.randrange(len(line) + 1)
        found.append(line[:at] + chance.choice(SIGNS) + line[at + chance.randrange(2) :])
    return found


LINES = [*lines_with(TOKENS), *mutated(lines_with(TOKENS), 1_500)]
