"""The paths of sources: which globs there are, and the shortest way to say one.

``**`` is any number of folders, so two of them in a row say no more than one; a walk that takes
them one after the other visits everything again for each. Patterns with several stars between
other parts still mean something, and have limits: every listing walks by them.

>>> plain_glob("logs/**/**/*.log")
'logs/**/*.log'

As the name of files, which stands last, ``**`` is no folders: it says what ``*`` says.

>>> plain_glob("logs/**/**/")
'logs/**/*'
"""

from itertools import groupby

PATH_LENGTH_MAX = 1000
ANY_DEPTH = "**"
ANY_NAME = "*"
ANY_DEPTHS_MAX = 4
"""Of ``**`` in one path, after those in a row have become one."""
PATTERNS_MAX = 16
"""Folders and files of one path that are patterns."""
STARS_MAX = 8
"""Stars in the name of one folder or file."""
MAGIC = frozenset("*?[")


def plain_glob(path: str) -> str:
    """The same files, without saying ``**`` twice in a row."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        return path
    name = ANY_NAME if parts[-1] == ANY_DEPTH else parts[-1]
    start = "/" if path.startswith("/") else ""
    return start + "/".join([*plain_parts(parts[:-1]), name])


def plain_parts(parts: list[str] | tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for part, run in groupby(parts):
        found += [part] if part == ANY_DEPTH else list(run)
    return found


def has_magic(part: str) -> bool:
    return not MAGIC.isdisjoint(part)


def glob_fault(path: str) -> str | None:
    """What is wrong with a path by its letters; which directories are open, each site decides."""
    parts = path.split("/")
    is_plain = "\0" not in path and ".." not in parts and "://" not in path
    if not path or len(path) > PATH_LENGTH_MAX or not is_plain:
        return (
            f"the path {path[:100]!r} is not admitted; write a glob below the site's data "
            "directory, such as 'access/*.log', or below a directory that the site opens"
        )
    parts = plain_parts(parts)
    # Every look at the source takes as many walks as the path has patterns.
    counts = (
        (parts.count(ANY_DEPTH), ANY_DEPTHS_MAX, "** with something between them"),
        (sum(map(has_magic, parts)), PATTERNS_MAX, "folders and files that are patterns"),
        (max(part.count("*") for part in parts), STARS_MAX, "stars in one name"),
    )
    for count, limit, what in counts:
        if count > limit:
            return f"the path {path[:100]!r} has {count} {what}; at most {limit} are admitted"
    return None
