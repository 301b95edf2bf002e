"""The console script `codetta`: hands over to the native program that lies beside the module _codetta."""

import importlib.util
import os
import sys


def program_path() -> str:
    """Where the native program lies. Asked of the module's origin, since __file__ is wrong in editable installs."""
    spec = importlib.util.find_spec("codetta._codetta")
    if spec is None or spec.origin is None:
        raise SystemExit("codetta: the native part is missing; reinstall the package or run ./dev build")
    folder = os.path.dirname(spec.origin)
    candidates = [os.path.join(folder, "bin", "codetta"), os.path.join(folder, "..", "..", "bin", "codetta")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return os.path.normpath(candidate)
    raise SystemExit(f"codetta: no program at {candidates[0]}; reinstall the package or run ./dev build")


def main() -> None:
    path = program_path()
    os.execv(path, [path, *sys.argv[1:]])
