"""The tables of a root's ledger."""

from headwater.store.manifest import Schema

ROOT_SCHEMA = Schema(
    name="root ledger",
    application_id=0x4857524C,
    oldest=5,
    migrations=(
        (
            "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
            # The rows come last: SQLite then finds the other columns without reading them.
            """CREATE TABLE summaries (
                query TEXT NOT NULL,
                number INTEGER NOT NULL,
                pane INTEGER NOT NULL,
                coverage BLOB NOT NULL,
                has_rows INTEGER NOT NULL,
                checksum BLOB,
                data BLOB)""",
            "CREATE UNIQUE INDEX summaries_by_number ON summaries (query, number)",
            "CREATE INDEX summaries_by_pane ON summaries (query, pane)",
            # ``agreed``: how far the life is compared with its digests, and where it differs.
            """CREATE TABLE states (
                query TEXT NOT NULL,
                ordinal INTEGER NOT NULL,
                incarnation INTEGER NOT NULL,
                since INTEGER NOT NULL,
                content BLOB NOT NULL,
                agreed BLOB,
                PRIMARY KEY (query, ordinal, incarnation)) WITHOUT ROWID""",
            """CREATE TABLE answers (
                query TEXT NOT NULL,
                window INTEGER NOT NULL,
                last_pane INTEGER NOT NULL,
                content BLOB NOT NULL,
                PRIMARY KEY (query, window)) WITHOUT ROWID""",
            """CREATE TABLE done (
                query TEXT PRIMARY KEY, through INTEGER NOT NULL) WITHOUT ROWID""",
            """CREATE TABLE published (
                stream TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID""",
            # Summaries whose bytes do not match their checksum, for people to look at.
            """CREATE TABLE damaged (
                query TEXT NOT NULL,
                number INTEGER NOT NULL,
                pane INTEGER NOT NULL,
                coverage BLOB NOT NULL,
                checksum BLOB,
                data BLOB)""",
            # The newest number of a query's summaries. It outlives the summary, which may be
            # trimmed or set aside: a number is never used again.
            """CREATE TABLE numbers (
                query TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID""",
            # What was found to be wrong. It outlives its query: whoever removes a stream takes no
            # alarm away.
            """CREATE TABLE alarms (
                query TEXT NOT NULL,
                number INTEGER NOT NULL,
                last_pane INTEGER NOT NULL,
                last_s REAL NOT NULL,
                is_ended INTEGER NOT NULL,
                content BLOB NOT NULL,
                PRIMARY KEY (query, number)) WITHOUT ROWID""",
        ),
    ),
)
