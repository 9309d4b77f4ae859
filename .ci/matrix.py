#!/usr/bin/env python3
"""Run what reads tables with old and new libraries, on every Python that is found: `make test-matrix`.

Each pair of a Python and a set of versions has an environment of its own under `.venv-matrix/`. The oldest
versions are the floors in pyproject.toml, so that what is promised is what is tested. Standard library only:
it runs before anything is installed.

    .ci/matrix.py                          every Python and every set once: half an hour on two cores
    .ci/matrix.py --every                  every pair of them: an hour and a half
    .ci/matrix.py --python 3.12 --set oldest pandas2 -- tests/sources -x
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv-matrix"
PYTHONS = ("3.11", "3.12", "3.13")
# How rows are read, scikit-learn's own checks (which are slow), and what is promised.
SUITES = ("tests/sources", "tests/estimators", "tests/privacy")
SHOWN = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "polars", "pyarrow", "narwhals")

# Only we run these, so nothing is promised of old ones.
TOOLS = ("pytest", "pytest-xdist", "pytest-cov", "hypothesis", "opendp", "playwright")

# What our floors bring along, where its newest version warns of them: matplotlib 3.8 calls old names.
BROUGHT = ("pyparsing<3.3",)

# Wheels for a Python appear later than our floors; these are the first that have one.
FIRST_WHEELS = {
    "3.13": {
        "numpy": "2.1",
        "scipy": "1.14.1",
        "numba": "0.61",
        "pyarrow": "18",
        "pandas": "2.2.3",
        "matplotlib": "3.9.2",
    }
}


def wanted() -> list[str]:
    """Give what pyproject.toml asks for: the dependencies, and those of the tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["test"]]


def floors(python: str) -> list[str]:
    """Pin what users have to its floor in pyproject.toml: `numpy>=1.26` becomes `numpy==1.26`."""
    found = [re.match(r"([\w-]+)>=([\d.]+)$", one) for one in wanted()]
    pairs = [match.groups() for match in found if match and match[1] not in TOOLS]
    return [*(f"{name}=={FIRST_WHEELS.get(python, {}).get(name, floor)}" for name, floor in pairs), *BROUGHT]


# pandas 2 and 3 hold text in different types, so each has a set beside newest libraries.
SETS = {"oldest": floors, "pandas2": lambda _: ["pandas<3"], "newest": lambda _: ["pandas>=3"]}


def interpreter(version: str) -> str | None:
    """Where Python `version` is: on the path, or among pyenv's; shims that lead nowhere do not count."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for candidate in (
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"{version}.*/bin/python"))),
    ):
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    return None


def environment(python: str, version: str, which: str) -> Path:
    """Make, or find as it was left, the environment of a Python and a set; its Python."""
    folder = HOME / f"{version}-{which}"
    pins = "\n".join(SETS[which](version))
    stamp = hashlib.sha256("\n".join([str(ROOT), pins, *wanted()]).encode()).hexdigest()
    kept = folder / "stamp"
    if not (kept.exists() and kept.read_text() == stamp):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        (folder / "constraints.txt").write_text(pins + "\n")
        pip = [folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        only = ["--only-binary", ":all:", "-c", folder / "constraints.txt"]
        subprocess.run([*pip, *only, "-e", f"{ROOT}[test]"], check=True)
        kept.write_text(stamp)
    return folder / "bin/python"


def versions(python: Path) -> str:
    """Ask an environment which versions it really holds."""
    ask = f"from importlib.metadata import version as v; print(*[n + ' ' + v(n) for n in {SHOWN}], sep=', ')"
    return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()


def pairs(chosen: argparse.Namespace) -> dict[str, list[str]]:
    """Return the sets that each Python runs with."""
    if chosen.every or chosen.python or chosen.set:
        return {version: chosen.set or list(SETS) for version in chosen.python or PYTHONS}
    # Old libraries go with the oldest Python, new ones with the newest.
    return {version: [which] for version, which in zip(PYTHONS, SETS, strict=True)}


def main() -> int:
    """Run the chosen pairs one after the other; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", nargs="+", choices=PYTHONS)
    parser.add_argument("--set", nargs="+", choices=list(SETS))
    parser.add_argument("--every", action="store_true", help="every pair of a Python and a set")
    parser.add_argument("--jobs", default="auto", help="processes of each run (pytest -n)")
    parser.add_argument("tests", nargs="*", default=SUITES, help="what pytest runs, after --")
    chosen = parser.parse_args()
    results = []
    for version, sets in pairs(chosen).items():
        python = interpreter(version)
        if python is None:
            results.append(f"{version:5} not found")
            continue
        for which in sets:
            print(f"== Python {version}, {which}", flush=True)
            try:
                inside = environment(python, version, which)
            except subprocess.CalledProcessError:
                results.append(f"{version:5} {which:8} FAILED to install")
                continue
            held = versions(inside)
            print(f"== {held}", flush=True)
            run = [inside, "-m", "pytest", "-q", "-n", chosen.jobs, "-p", "no:cacheprovider", *chosen.tests]
            failed = subprocess.run(run, cwd=ROOT).returncode
            results.append(f"{version:5} {which:8} {'FAILED' if failed else 'passed'}  {held}")
    print(*results, sep="\n")
    if all(line.endswith("not found") for line in results):
        print("Nothing ran: install Python 3.11 or later, on the path or with pyenv.")
        return 1
    return int(any("FAILED" in line for line in results))


if __name__ == "__main__":
    sys.exit(main())
