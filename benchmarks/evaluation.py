"""Every evaluation set of the data folder in one table, by `graphrag-rdf eval all`.

python -m benchmarks.evaluation [--limit 25] [--only retrieval] [any other option of eval all]
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.common import data_folder, no_data


def main() -> int:
    """Measure and print."""
    data = data_folder()
    if data is None:
        return no_data("evaluation")
    command = [sys.executable, "-m", "graphrag_rdf", "eval", "all", str(data), *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
