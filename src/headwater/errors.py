"""Every error that Headwater raises on purpose.

One base, and one class for each reason on which a caller would act differently. A message says
where, what was wanted, what came, and what is available or what to do.
"""


class HeadwaterError(Exception):
    """The base of all errors that a caller may want to show to a person."""


class QueryRefused(HeadwaterError):
    """A statement that can't be run as written; the message points at the place in the text."""

    def __init__(self, message: str, *, offset: int | None = None, said: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        """Of the place, in the person's text; None: it is about no place in particular."""
        self.said = said or message
        """The sentence alone."""


class ConfigurationError(HeadwaterError):
    """A configuration file, roster or option that can't be used as it is."""


class OverlapError(HeadwaterError):
    """Two summaries with a site in common were about to be merged, which would count twice."""


class GroupFailed(HeadwaterError):
    """Spark refused a value, such as a sum beyond its type or a division by zero: an error that may
    be that of one group. The group is left out of the answer; the others stand."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.reason = reason
        """Spark's own words."""


class WireError(HeadwaterError):
    """Bytes from a peer that break the rules of the wire; the frame is refused and counted."""


class NotAuthorised(WireError):
    """A peer with a valid certificate asked for something its role does not allow."""


class Unreachable(WireError):
    """Nobody answers at an agent's address."""


class StoreError(HeadwaterError):
    """The disk refused, or what is on it is damaged."""


class DiskFull(StoreError):
    """There is no room; nothing was committed and the same call may be tried again."""


class StoreBroken(StoreError):
    """A commit failed in a way that leaves open whether it happened: only a new start can look."""


class EpochOver(StoreError):
    """A batch of an epoch that is not the source's own any more; its input comes again."""


class SegmentDamaged(StoreError):
    """A segment's checksum does not match; it is quarantined, never deleted."""


class UnreadableRow(StoreError):
    """A row of a manifest that is damaged, or of a newer version: what hangs on it is set aside,
    alone, and stays as it is."""


class AlreadyRunning(StoreError):
    """Another process holds the directory."""


class DiskTrouble(StoreError):
    """The system refused (EIO, EMFILE, a lock); nothing was changed or found to be damaged, and the
    same call may be tried again."""


class RowsGone(StoreError):
    """Rows that retention has taken, or whose query was removed: they never come back."""


class PaneIsLarge(StoreError):
    """The rows of a pane are more than the caller wants in memory; they come one by one as well."""


class SourceForgotten(StoreError):
    """The source is not here any more: whoever still works for it has nothing left to do."""


class QueryUnknown(StoreError):
    """A batch has results of a query that no record knows yet: it is tried again when one does."""


class AlreadyPublished(StoreError):
    """This revision of a window, or a later one, is published: there is never a second one."""


class SparkFailed(HeadwaterError):
    """Spark could not be started or ended a job that can't be attributed to one query."""


class SparkDown(SparkFailed):
    """There is no Spark just now: it died, or is replaced; the same call may be tried again."""
