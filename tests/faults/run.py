"""Do all that can go wrong with a ledger, on purpose, and print how often it held: `make faults`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from faults.harness import Fault, Reference
from faults.in_files import clocks, full_disks, kills, lost_answers, races, read_only, versions
from faults.on_servers import servers

KINDS = (kills, full_disks, read_only, lost_answers, races, clocks, versions, servers)
# Of each kind, how many `make test` tries: twenty.
SOME = {
    "kill -9 at a step": 7,
    "full disk": 3,
    "read-only file": 2,
    "answer of a commit lost": 2,
    "16 processes race": 1,
    "clock goes back": 2,
    "another version": 1,
    "server gone": 1,
    "server restarted": 1,
}


def chosen(faults: list[Fault], some: bool) -> list[Fault]:
    """All faults, or twenty that are spread over all kinds."""
    if not some:
        return faults
    found = []
    for kind in dict.fromkeys(fault.kind for fault in faults):
        every = [fault for fault in faults if fault.kind == kind]
        n = SOME.get(kind, len(every) if not kind else 0)
        found += [every[len(every) * i // n] for i in range(n)]
    return found


def main() -> int:
    """Run faults, print how many held of each kind, and return 1 if one did not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--some", action="store_true", help="the twenty of make test")
    some = parser.parse_args().some
    held: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="shoal-faults-") as name:
        Path(name).chmod(0o755)
        reference = Reference(Path(name))
        faults = chosen([fault for kind in KINDS for fault in kind(reference)], some)
        for number, fault in enumerate(faults):
            folder = Path(name) / str(number)
            folder.mkdir()
            tried[fault.kind] += 1
            try:
                fault.run(folder)
                held[fault.kind] += 1
            except Exception as error:
                print(f"FAILED {fault.kind}, {fault.where}: {error!r}", file=sys.stderr)
            shutil.rmtree(folder)
    del tried[""], held[""]
    for kind, n in tried.items():
        print(f"{kind:<26}{held[kind]:>4} of {n}")
    print(f"{'all':<26}{held.total():>4} of {tried.total()}")
    return int(held != tried)


if __name__ == "__main__":
    sys.exit(main())
