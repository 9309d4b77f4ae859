"""Before the tests, continuous integration installs everything and requires it, or fails, or says so."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
MAKE = 'echo "make $* SHOAL_REQUIRE=${SHOAL_REQUIRE-unset}"'


@pytest.fixture
def run(tmp_path):
    """Run the script on a pretended machine: only these commands exist, and each is what is given here."""

    def run(**commands):
        for name in ("bash", "dirname"):
            (tmp_path / name).symlink_to(shutil.which(name))
        for name, body in ({"make": MAKE} | commands).items():
            command = tmp_path / name.replace("_", "-")
            command.write_text(f"#!{shutil.which('bash')}\n{body}\n")
            command.chmod(0o755)
        return subprocess.run(
            [tmp_path / "bash", SCRIPT],
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_root_on_debian_installs_what_is_missing_and_requires_it(run):
    done = run(id="echo 0", apt_get='echo "apt-get $*" >&2', dpkg_query="exit 1", java="true")
    assert done.returncode == 0
    assert "install -y --no-install-recommends chromium default-jre-headless postgresql" in done.stderr
    assert done.stdout.splitlines() == [
        "make spark SHOAL_REQUIRE=all",
        "make test PYTEST=--durations=15 SHOAL_REQUIRE=all",
    ]


def test_what_is_installed_is_not_installed_again(run):
    done = run(id="echo 0", apt_get="exit 1", dpkg_query="true", java="true")
    assert done.returncode == 0
    assert done.stdout.endswith("SHOAL_REQUIRE=all\n")


@pytest.mark.parametrize("fails", ["update", "install"])
def test_an_installation_that_fails_is_a_failure(run, fails):
    done = run(id="echo 0", apt_get=f'[[ "$*" != *{fails}* ]]', dpkg_query="exit 1")
    assert done.returncode == 1
    assert "CI: could not install chromium" in done.stderr
    assert "make" not in done.stdout


@pytest.mark.parametrize("commands", [{"id": "echo 0"}, {"id": "echo 1000", "apt_get": "exit 1"}])
def test_elsewhere_the_tests_run_with_what_is_there(run, commands):
    done = run(**commands)
    assert done.returncode == 0
    assert "are skipped where these are missing" in done.stderr
    assert done.stdout == "make test PYTEST=--durations=15 SHOAL_REQUIRE=unset\n"


def test_tests_that_fail_make_it_fail(run):
    assert run(id="echo 1000", make="exit 2").returncode == 2
