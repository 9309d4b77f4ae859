"""The whole studio with the made-up city, in a process of its own; prints all its routes first."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from shoal.studio.access import AccessStore, Settings, serve
from shoal.studio.access.assembly import all_routes
from shoal.studio.app import build
from shoal.studio.workshop import Studio

if __name__ == "__main__":
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    studio = Studio.demo(folder)
    guard = build(
        studio, Settings(port=port), AccessStore(folder / "access.db"), access_log=folder / "access.log"
    )
    told = [
        [path, method, guard.policy.covers(path, "GET" if method == "*" else method)]
        for path, method in all_routes(guard)
    ]
    print(json.dumps(told), flush=True)
    serve(guard, temporary=folder / "tmp")
    studio.close(stop_jobs=True)
