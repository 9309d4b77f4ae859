"""Break the code in known ways, one at a time, and see that the named privacy test fails: `make mutants`.

`mutants.toml` says what is broken and which test must notice. Every mutant lives in a copy of the tree, which
is what is imported, and only its own tests are run, after they have passed on the copy as it is. What was
found is written to docs/audit/mutants.md. That takes too long for `make test`, which only sees that all is
still in its place (`test_table.py`).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "shoal"
TABLE = Path(__file__).with_name("mutants.toml")
PAGE = ROOT / "docs" / "audit" / "mutants.md"
# Seconds: a mutant that takes as long hangs, which is not to be noticed.
LONGEST = 600
# What pytest returns where tests failed; a mutant that cannot be imported is no mutant.
FAILED = 1

KILLED, SURVIVED, BROKEN, EQUIVALENT = "killed", "survived", "broken", "equivalent"


@dataclass(frozen=True)
class Mutant:
    """One way to break a layer: `before` becomes `after`; `tests` must notice, or `why` says why not."""

    what: str
    layer: str
    before: str
    after: str
    tests: tuple[str, ...] = ()
    why: str = ""

    def place(self, source=SOURCE):
        """Return the file that holds the place, below src/shoal: it must be there exactly once."""
        files = sorted((source / self.layer).rglob("*.py"))
        times = {file: file.read_text().count(self.before) for file in files}
        if sum(times.values()) != 1:
            raise SystemExit(
                f"{self.what}: {self.before!r} is {sum(times.values())} times in {self.layer}, and must be "
                f"there once. Say in {TABLE.relative_to(ROOT)} how to break it now"
            )
        return str(max(times, key=times.__getitem__).relative_to(source))

    def applied(self, text):
        """Return the file's text, broken."""
        return text.replace(self.before, self.after)


def mutants():
    """Read the table."""
    rows = tomllib.loads(TABLE.read_text())["mutant"]
    return [Mutant(**{**row, "tests": tuple(row.get("tests", ()))}) for row in rows]


class Copy:
    """A tree of its own, in which one mutant at a time is tested."""

    def __init__(self, folder):
        self.root = folder
        for part in ("src", "tests", "docs"):
            shutil.copytree(ROOT / part, folder / part)
        shutil.copy2(ROOT / "pyproject.toml", folder)
        # The kernels are compiled into the tree; nothing of a mutant is to stay there.
        self.environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        found = self._run("-c", "import shoal; print(shoal.__file__)").stdout
        if not found.startswith(str(folder.resolve())) and not found.startswith(str(folder)):
            raise SystemExit(f"the copy is not what is imported, but {found}")

    def test(self, tests):
        """Run tests, and return pytest's exit code and what it said."""
        try:
            done = self._run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=line", *tests)
        except subprocess.TimeoutExpired:
            return -1, f"no answer in {LONGEST} seconds"
        return done.returncode, done.stdout + done.stderr

    def verdict(self, mutant):
        """Break the copy, test it, and mend it again; return the verdict, where it was, and what was said."""
        source = self.root / "src" / "shoal"
        place = mutant.place(source)
        if not mutant.tests:
            return EQUIVALENT, place, ""
        file = source / place
        text, times = file.read_text(), file.stat()
        file.write_text(mutant.applied(text))
        try:
            code, said = self.test(mutant.tests)
        finally:
            file.write_text(text)
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        return {FAILED: KILLED, 0: SURVIVED}.get(code, BROKEN), place, said

    def _run(self, *command):
        return subprocess.run(
            [sys.executable, *command],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )


def judge(chosen, processes):
    """Give every mutant with its verdict, in order, each in a copy that nobody else uses."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(processes) as pool:
        copies = Queue()
        for copy in pool.map(lambda i: Copy(Path(folder) / str(i)), range(processes)):
            copies.put(copy)

        def with_copy(work, *arguments):
            copy = copies.get()
            try:
                return getattr(copy, work)(*arguments)
            finally:
                copies.put(copy)

        tests = sorted({test for mutant in chosen for test in mutant.tests})
        files = sorted({test.split("::")[0] for test in tests})
        grouped = [[test for test in tests if test.split("::")[0] == file] for file in files]
        for code, said in pool.map(lambda group: with_copy("test", group), grouped):
            if code != 0:
                raise SystemExit(f"a test fails on the code as it is, so it can tell nothing:\n{said}")
        print(f"{len(tests)} tests pass on the code as it is", flush=True)
        yield from zip(chosen, pool.map(lambda mutant: with_copy("verdict", mutant), chosen), strict=True)


def page(judged):
    """Return what was found as a page."""
    killed = sum(verdict == KILLED for _, verdict, _ in judged)
    equivalent = [(mutant, place) for mutant, verdict, place in judged if verdict == EQUIVALENT]
    tried = len(judged) - len(equivalent)
    lines = [
        "# Mutants",
        "",
        f"**{killed} of {tried} mutants are killed by the privacy test that is named for them.**",
        "",
        "A test that cannot fail proves nothing. Each line breaks the gate, the mechanisms, the accounting,",
        "the sources or the studio's guard in one place, in a way that would lose privacy, or makes a",
        "release say what was neither paid nor answered. The test beside it passes on the code as it is, and",
        "must fail on the broken one. Tests of accuracy do not count, nor do recorded results.",
        "",
        "The page is made by `make mutants`, from `tests/mutants/mutants.toml`, which has the code of each",
        "mutant. The set is fixed and the tests are seeded, so that it comes out the same every time.",
        "",
        "| what is broken | where | the test that notices | verdict |",
        "| --- | --- | --- | --- |",
    ]
    for mutant, verdict, place in judged:
        if verdict != EQUIVALENT:
            tests = "<br>".join(f"`{test.removeprefix('tests/')}`" for test in mutant.tests)
            lines.append(f"| {mutant.what} | `{place}` | {tests} | {verdict} |")
    lines += ["", "## Equivalent ones", "", "These look like mistakes, and lose nothing:", ""]
    lines += [f"- {mutant.what} (`{place}`): {mutant.why}" for mutant, place in equivalent]
    return "\n".join(lines) + "\n"


def main():
    """Judge all mutants, or those whose name or layer holds a word; write the page only where all were."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutants of which this is a part of the name or layer")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    every = mutants()
    chosen = [m for m in every if all(word in f"{m.what} {m.layer}" for word in arguments.words)]
    judged = []
    for mutant, (verdict, place, said) in judge(chosen, arguments.processes):
        judged.append((mutant, verdict, place))
        print(f"{verdict:10} {mutant.what} ({place})", flush=True)
        if verdict in (SURVIVED, BROKEN):
            print(said[-2000:], flush=True)
    if chosen == every:
        PAGE.write_text(page(judged))
        print(f"written: {PAGE.relative_to(ROOT)}")
    sys.exit(any(verdict in (SURVIVED, BROKEN) for _, verdict, _ in judged))


if __name__ == "__main__":
    main()
