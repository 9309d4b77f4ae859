#!/usr/bin/env python3
"""Install the wheel as a user would, without extras and with each, on every Python: `make install-check`.

The wheel goes into an empty environment outside the repository; each extra into one of its own beside that,
in which it does what it is for. Standard library only.

    .ci/install.py dist/shoal-0.2.0-py3-none-any.whl
    .ci/install.py dist/*.whl --python 3.12 --extra none studio
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from matrix import PYTHONS, interpreter

# What a user does with each extra, in a folder with people.csv; `shoal` is that of the environment.
START = """
shoal --version
shoal fit people.csv --k 2 --epsilon 1 --bounds x=0:10 --bounds y=0:10 --out release
shoal verify release > verified.txt
"""
EXTRAS = {
    "none": """
shoal demo | tail -3
on_dask="fit people.csv --k 2 --epsilon 1 --bounds x=0:10 --engine dask --out elsewhere"
for command in "plot release --out a.png" "studio --demo" "$on_dask"; do
  if shoal $command 2> said.txt; then exit 1; fi
  grep "pip install 'shoal\\[" said.txt
done
""",
    "plot": "shoal demo > demo.txt; test -s out/demo.png; shoal plot release --out a.svg; test -s a.svg",
    "sign": """
python - <<'END'
from pathlib import Path
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
key = Ed25519PrivateKey.generate()
Path("key.pem").write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
END
shoal sign release --key key.pem
""",
    "postgres": """
if shoal budget list --ledger postgresql://nobody@127.0.0.1:1/none 2> said.txt; then exit 1; fi
if grep "pip install" said.txt; then exit 1; fi
""",
    "bench": "shoal bench list > list.txt; python -c 'import faiss'",
    "studio": """
shoal studio --demo --no-browser --port 0 > studio.txt 2>&1 &
studio=$!
trap "kill $studio" EXIT
python - <<'END'
import re, time, urllib.request
from pathlib import Path
for _ in range(120):
    if found := re.search(r"http://\\S+", Path("studio.txt").read_text()):
        break
    time.sleep(0.5)
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
page = opener.open(found[0], timeout=60).read().decode()
assert "Shoal" in page, page[:500]
print("the studio answers", len(page), "characters")
END
""",
    "dask": """
python - <<'END'
import dask.array, numpy as np
from shoal import KMeans
rows = dask.array.from_array(np.random.default_rng(0).uniform(0, 10, (4000, 2)), chunks=(1000, 2))
print(KMeans(2, epsilon=1.0, bounds=(0, 10)).fit(rows).cluster_sizes_.round())
END
""",
    "spark": """
python - <<'END'
from pyspark.sql import SparkSession
from shoal import KMeans
spark = SparkSession.builder.master("local[1]").getOrCreate()
rows = spark.createDataFrame([(float(i % 10), float(i % 7)) for i in range(2000)], ["x", "y"])
print(KMeans(2, epsilon=1.0, bounds={"x": (0, 10), "y": (0, 10)}).fit(rows).cluster_sizes_.round())
END
""",
}


def offered(wheel: Path) -> set[str]:
    """Return the extras that the wheel names."""
    told = subprocess.run(
        ["unzip", "-p", wheel, "*/METADATA"], capture_output=True, text=True, check=True
    ).stdout
    return {line.split(": ")[1] for line in told.splitlines() if line.startswith("Provides-Extra: ")}


def environment(python: str, folder: Path, wanted: str, beside: Path | None = None) -> Path:
    """Make an environment, which finds what it lacks in another, and install into it; return its programs."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    bin_ = folder / "bin"
    if beside is not None:
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        own, other = (_said([one / "bin" / "python", "-c", ask]) for one in (folder, beside))
        (Path(own) / "beside.pth").write_text(other + "\n")
        script = (beside / "bin" / "shoal").read_text().replace(str(beside), str(folder))
        (bin_ / "shoal").write_text(script)
        (bin_ / "shoal").chmod(0o755)
    _said([bin_ / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wanted])
    return bin_


def used(bin_: Path, folder: Path, words: str) -> None:
    """Do in a folder what an extra is for."""
    _said(["bash", "-c", f'set -eu\nPATH="{bin_}:$PATH"\n{words}'], cwd=folder)


def _said(command: list[object], **given: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=1800, **given)
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr)[-3000:])
    return done.stdout.strip()


def main() -> int:
    """Try all chosen pairs; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", nargs="+", default=PYTHONS, choices=PYTHONS)
    parser.add_argument("--extra", nargs="+", choices=list(EXTRAS))
    chosen = parser.parse_args()
    there = offered(chosen.wheel)
    extras = chosen.extra or [one for one in EXTRAS if one == "none" or one in there]
    if "spark" in extras and not chosen.extra and shutil.which("java") is None:
        extras.remove("spark")
    failed = 0
    for version in chosen.python:
        python = interpreter(version)
        if python is None:
            print(f"{version:5} not found")
            continue
        with tempfile.TemporaryDirectory(prefix="shoal-install-") as kept:
            home, wheel, start = Path(kept), chosen.wheel.resolve(), time.monotonic()
            (home / "use").mkdir()
            rows = "".join(f"{i % 10},{i % 7}\n" for i in range(2000))
            (home / "use" / "people.csv").write_text("x,y\n" + rows)
            used(environment(python, home / "none", str(wheel)), home / "use", START)
            for extra in extras:
                folder = shutil.copytree(home / "use", home / f"use-{extra}")
                try:
                    bin_ = home / "none" / "bin"
                    if extra != "none":
                        bin_ = environment(python, home / extra, f"{wheel}[{extra}]", beside=home / "none")
                    used(bin_, folder, EXTRAS[extra])
                except RuntimeError as wrong:
                    failed += 1
                    print(f"{version:5} {extra:9} FAILED\n{wrong}", flush=True)
                else:
                    print(f"{version:5} {extra:9} works  {time.monotonic() - start:.0f} s", flush=True)
                start = time.monotonic()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
