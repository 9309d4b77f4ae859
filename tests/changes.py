"""What a change to a file of a release must lead to."""

import pytest

from shoal import verify
from shoal.errors import InvalidRelease


def change_is_found(release, folder, name, old, new):
    """Save a release, change one file of it, and see that it neither verifies nor loads."""
    release.save(folder)
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    failed = verify(folder).failed
    assert f"file {name}" in failed
    assert len(failed) > 1  # what it says is wrong too, not the hash alone
    with pytest.raises(InvalidRelease, match=name):
        type(release).load(folder)
