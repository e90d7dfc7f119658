"""What an agent looks at before it opens its port: its role against the roster, its deny list."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from headwater.agent.process import _check_credentials
from headwater.errors import ConfigurationError
from headwater.net.identity.certs import create_authority, issue
from headwater.net.identity.identity import Role
from headwater.net.identity.tls import Credentials
from headwater.plan.roster import Site


def credentials(directory: Path, role: Role) -> Credentials:
    files = issue(create_authority(directory, "testland"), role, "fra")
    return Credentials(files, deny=directory / "denied")


def test_a_relays_certificate_at_a_site_with_data_is_refused_with_a_sentence(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="originates nothing, and the roster gives fra"):
        _check_credentials(credentials(tmp_path, Role.RELAY), Site(0, "fra"))


@pytest.mark.parametrize("role", [Role.SITE, Role.RELAY])
def test_a_relay_may_have_either_certificate(tmp_path: Path, role: Role):
    _check_credentials(credentials(tmp_path, role), Site(0, "fra", has_data=False))


def test_a_deny_list_that_is_not_there_is_said_aloud(tmp_path: Path):
    shown = credentials(tmp_path, Role.SITE)
    with capture_logs() as said:
        _check_credentials(shown, Site(0, "fra"))
    assert [(one["event"], one["path"]) for one in said] == [
        ("no deny list", str(tmp_path / "denied"))
    ]
    (tmp_path / "denied").write_text("")
    with capture_logs() as said:
        _check_credentials(shown, Site(0, "fra"))
    assert said == []
