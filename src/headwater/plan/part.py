"""The parts of a stream that several roots answer: which groups belong to which of them.

A root merges, keeps and finishes all groups of its query. Where these are too many for one machine,
a stream names several roots and is divided by its keys (the reducer partitions of MapReduce): each
group belongs to one part, by a hash of its keys, and each part is a query of its own, with a root
and trees of its own. Nobody but the compiler and the people who read the answers need know that
parts belong together.

Spark hashes, at the sites and in the reference. Its ``xxhash64`` gives one value for what GROUP BY
takes for one key: 0.0 and -0.0 are one, all NaN are one, and a null counts as well.
"""

from __future__ import annotations

import msgspec

PARTS_MAX = 64
"""Every part is a query at every site: a job on each batch, and a tree set. Beyond this, sites
rather than roots are what is short."""


class Part(msgspec.Struct, frozen=True):
    """One of the queries that answer a stream together.

    >>> str(Part("requests", number=2, count=3))
    'part 2 of 3 of requests'
    """

    stream: str
    number: int
    """From 1."""
    count: int

    def __str__(self) -> str:
        return f"part {self.number} of {self.count} of {self.stream}"

    @property
    def query_name(self) -> str:
        """What the query of this part, and the directory of its results, are called."""
        return f"{self.stream}_part_{self.number}"

    def condition_sql(self, keys: list[str]) -> str:
        """True of the records whose group belongs to this part; ``keys`` are SQL over records.

        >>> Part("requests", number=2, count=3).condition_sql(["domain", "status"])
        'PMOD(XXHASH64(domain, status), 3) = 1'
        """
        return f"PMOD(XXHASH64({', '.join(keys)}), {self.count}) = {self.number - 1}"
