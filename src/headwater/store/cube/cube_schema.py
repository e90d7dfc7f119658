"""The tables of a cube's manifest.

Queries and sources have short numbers here, since their names would otherwise be repeated in
every row; a number is never used again, so what was read under it can't be taken for something that
came later. Times are seconds of the site's clock. A ``parts`` row is a stretch of a segment that
is in no update yet; an ``updates`` row is one whose content is fixed for ever. What is marked
AUTOINCREMENT is never used again, also when all rows are gone.
"""

from headwater.store.manifest import Schema

OWED = 0
"""The number of the rows of a pane that were withheld and follow: the next update takes them."""
KEPT_BACK = -1
"""The number of those that were withheld and stay."""

CUBE_SCHEMA = Schema(
    name="cube",
    application_id=0x48574355,
    oldest=5,
    migrations=(
        (
            """CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID""",
            """CREATE TABLE sources (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                name TEXT NOT NULL UNIQUE,
                ends INTEGER NOT NULL,
                is_begun INTEGER NOT NULL DEFAULT 0,
                epoch INTEGER NOT NULL DEFAULT 0,
                last_cut INTEGER NOT NULL DEFAULT 0,
                committed_cut INTEGER NOT NULL DEFAULT 0)""",
            """CREATE TABLE files (
                source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
                id INTEGER NOT NULL,
                content BLOB NOT NULL,
                PRIMARY KEY (source, id)) WITHOUT ROWID""",
            """CREATE TABLE cuts (
                source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
                cut INTEGER NOT NULL,
                origin TEXT NOT NULL,
                first_byte INTEGER NOT NULL,
                end_byte INTEGER NOT NULL,
                poll_s REAL NOT NULL,
                chunk TEXT,
                bytes INTEGER NOT NULL,
                spooled_bytes INTEGER NOT NULL,
                is_doubtful INTEGER NOT NULL DEFAULT 0,
                PRIMARY KEY (source, cut)) WITHOUT ROWID""",
            """CREATE TABLE losses (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
                bytes INTEGER NOT NULL,
                lines INTEGER NOT NULL,
                what TEXT NOT NULL)""",
            """CREATE TABLE batches (
                source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
                epoch INTEGER NOT NULL,
                batch INTEGER NOT NULL,
                query TEXT NOT NULL,
                PRIMARY KEY (source, epoch, batch, query)) WITHOUT ROWID""",
            """CREATE TABLE queries (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                name TEXT NOT NULL UNIQUE,
                record BLOB NOT NULL)""",
            """CREATE TABLE segments (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                query INTEGER NOT NULL REFERENCES queries ON DELETE CASCADE,
                name TEXT NOT NULL UNIQUE,
                bytes INTEGER NOT NULL,
                rows INTEGER NOT NULL,
                checksum BLOB NOT NULL,
                is_damaged INTEGER NOT NULL DEFAULT 0)""",
            """CREATE INDEX segments_of_query ON segments (query)""",
            """CREATE TABLE panes (
                query INTEGER NOT NULL REFERENCES queries ON DELETE CASCADE,
                pane INTEGER NOT NULL,
                updates INTEGER NOT NULL DEFAULT 0,
                row_bytes INTEGER NOT NULL DEFAULT 0,
                is_acked INTEGER NOT NULL DEFAULT 0,
                is_dropped INTEGER NOT NULL DEFAULT 0,
                written_s REAL NOT NULL,
                PRIMARY KEY (query, pane)) WITHOUT ROWID""",
            """CREATE INDEX panes_by_age ON panes (written_s) WHERE is_dropped = 0""",
            """CREATE INDEX panes_unacked ON panes (query, pane) WHERE is_acked = 0""",
            """CREATE TABLE parts (
                query INTEGER NOT NULL,
                pane INTEGER NOT NULL,
                segment INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
                first_row INTEGER NOT NULL,
                rows INTEGER NOT NULL,
                PRIMARY KEY (query, pane, segment, first_row),
                FOREIGN KEY (query, pane) REFERENCES panes ON DELETE CASCADE) WITHOUT ROWID""",
            """CREATE INDEX parts_of_segment ON parts (segment)""",
            """CREATE TABLE updates (
                query INTEGER NOT NULL,
                pane INTEGER NOT NULL,
                number INTEGER NOT NULL,
                segment INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
                first_row INTEGER NOT NULL,
                rows INTEGER NOT NULL,
                is_sent INTEGER NOT NULL,
                PRIMARY KEY (query, pane, number),
                FOREIGN KEY (query, pane) REFERENCES panes ON DELETE CASCADE) WITHOUT ROWID""",
            """CREATE INDEX updates_of_segment ON updates (segment)""",
            """CREATE TABLE expired (
                query INTEGER NOT NULL REFERENCES queries ON DELETE CASCADE,
                pane INTEGER NOT NULL,
                reason TEXT NOT NULL,
                PRIMARY KEY (query, pane)) WITHOUT ROWID""",
            # Failed batches, until a record knows of them: records say up to which one they do.
            """CREATE TABLE failures (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                query INTEGER NOT NULL REFERENCES queries ON DELETE CASCADE,
                first_pane INTEGER,
                last_pane INTEGER,
                message TEXT NOT NULL)""",
            # Whatever source they are of: a poll or a batch of a source that was forgotten must not
            # pass for one of its successor.
            """CREATE TABLE epochs (last INTEGER NOT NULL)""",
            """INSERT INTO epochs VALUES (0)""",
            # The file systems and directories that a source has seen; of a reading of the past,
            # where it began (``Past``).
            """CREATE TABLE places (
                source INTEGER PRIMARY KEY REFERENCES sources ON DELETE CASCADE,
                content BLOB NOT NULL)""",
        ),
        # The line that names the columns of a cut's lines.
        ("""ALTER TABLE cuts ADD COLUMN header TEXT NOT NULL DEFAULT ''""",),
        # What the site has kept back of a pane, beside the last update of its close. The rows are
        # updates, too, of numbers that are never sent: ``OWED`` and ``KEPT_BACK``.
        ("""ALTER TABLE updates ADD COLUMN withheld BLOB""",),
        # Of a state query: the records that its next states may be made of, a segment for each
        # batch, with where the site's count was after its last record; and where in that order, and
        # from which pane on, records may be missing.
        (
            """CREATE TABLE ring (
                query INTEGER NOT NULL REFERENCES queries ON DELETE CASCADE,
                segment INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
                through_row INTEGER NOT NULL,
                PRIMARY KEY (query, segment)) WITHOUT ROWID""",
            """CREATE INDEX ring_of_segment ON ring (segment)""",
            """CREATE TABLE gaps (
                query INTEGER NOT NULL REFERENCES queries ON DELETE CASCADE,
                at_row INTEGER NOT NULL,
                pane INTEGER NOT NULL,
                PRIMARY KEY (query, at_row, pane)) WITHOUT ROWID""",
        ),
        # Of an update that left before the close of its pane: the last segment of the pane's parts
        # that it was taken of. Until the close they stay what they are.
        ("""ALTER TABLE updates ADD COLUMN through INTEGER""",),
        # Panes below it that have no row here may have been let go of: only from there on is one
        # without rows an empty one. What a former version let go of it did not write down.
        (
            """ALTER TABLE queries ADD COLUMN kept_from INTEGER NOT NULL DEFAULT
                -4611686018427387904""",
            """UPDATE queries SET kept_from = (
                SELECT coalesce(max(pane) + 1, 4611686018427387904) FROM panes
                WHERE panes.query = queries.id)""",
        ),
    ),
)
