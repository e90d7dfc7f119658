"""Every error that Headwater raises on purpose.

One base, and one class for each reason on which a caller would act differently. A message says
where, what was wanted, what came, and what is available or what to do.
"""


class HeadwaterError(Exception):
    """The base of all errors that a caller may want to show to a person."""


class QueryRefused(HeadwaterError):
    """A statement that can't be run as written; the message points at the place in the text."""


class ConfigurationError(HeadwaterError):
    """A configuration file, roster or option that can't be used as it is."""


class OverlapError(HeadwaterError):
    """Two summaries with a site in common were about to be merged, which would count twice."""


class AnswerOverflow(HeadwaterError):
    """A value does not fit the type that the query promises: an error of the answer, no crash."""


class WireError(HeadwaterError):
    """Bytes from a peer that break the rules of the wire; the frame is refused and counted."""


class NotAuthorised(WireError):
    """A peer with a valid certificate asked for something its role does not allow."""


class StoreError(HeadwaterError):
    """The disk refused, or what is on it is damaged."""


class DiskFull(StoreError):
    """There is no room; nothing was committed and the same call may be tried again."""


class SegmentDamaged(StoreError):
    """A segment's checksum does not match; it is quarantined, never deleted."""


class AlreadyRunning(StoreError):
    """Another process holds the directory."""


class SparkFailed(HeadwaterError):
    """Spark could not be started or ended a job that can't be attributed to one query."""


class SparkDown(SparkFailed):
    """There is no Spark just now: it died, or is replaced; the same call may be tried again."""
