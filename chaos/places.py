"""Who takes part: three agents in a row, of which the outer two have data."""

ROOT, RELAY, SITE = "site1", "relay1", "site2"
"""In the order of the tree: the relay is the root's child and the site's parent."""
AGENTS = (ROOT, RELAY, SITE)
DATA_SITES = (ROOT, SITE)
LINKS = (ROOT, RELAY)
"""Those that others dial; the proxy of each is the link below it."""
CHURNED = "churned"
"""The stream that is removed and installed again, on a source of its own."""
MACHINE = "machine"
"""What an overload strikes: all agents at once."""
