"""The parts of a split question as SQL again: for sites, for the root, for the reference, for
people.

Open ``write_site_sql`` first, then ``write_root_sql``.
"""
