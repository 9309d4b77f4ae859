"""A test that cannot run is skipped with a reason; where everything is required it fails."""

import pytest

import needs as module

pytest_plugins = ["pytester"]

PLUGIN = """
import needs as module
module.KNOWN["unicorn"] = (lambda: None, "there are no unicorns")
module.KNOWN["water"] = (lambda: "/here", "it is dry")
from needs import pytest_configure, pytest_runtest_setup
"""

TESTS = """
from needs import needs

@needs("unicorn")
def test_of_unicorns(): pass

@needs("water")
def test_of_water(): pass

@needs("water", "unicorn")
def test_of_both(): pass
"""


@pytest.fixture
def suite(pytester, request, monkeypatch):
    """A suite of three tests, run in a process of its own with a given SHOAL_REQUIRE."""

    def run(require, tests=TESTS):
        monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath / "tests"))
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.setenv("SHOAL_REQUIRE", require)
        pytester.makeini("[pytest]\nmarkers = needs\n")
        pytester.makeconftest(PLUGIN)
        pytester.makepyfile(tests)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-rs")

    return run


def test_what_is_missing_is_skipped_with_a_reason(suite):
    result = suite("")
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*needs unicorn: there are no unicorns"])


@pytest.mark.parametrize("require", ["all", "unicorn", "water, unicorn"])
def test_what_is_missing_fails_where_it_is_required(suite, require):
    result = suite(require)
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["*there are no unicorns, and SHOAL_REQUIRE asks for it*"])


def test_to_require_one_thing_does_not_require_another(suite):
    suite("water").assert_outcomes(passed=1, skipped=2)


def test_a_misspelt_requirement_is_refused_before_any_test(suite):
    result = suite("unicron")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*SHOAL_REQUIRE names*unicron*wanted 'all' or some of*"])


def test_a_need_that_nobody_knows_is_a_mistake(suite):
    result = suite("", tests=TESTS.replace('needs("water")', 'needs("watre")'))
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*needs 'watre'; tests/needs.py knows only*"])


@pytest.mark.parametrize("name", sorted(module.KNOWN))
def test_every_need_says_what_to_install(name):
    assert "install" in module.KNOWN[name][1]
