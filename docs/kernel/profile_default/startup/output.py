"""Output as a reader's notebook shows it, but without paths of this machine, and in one piece."""

import subprocess
import warnings

from IPython import get_ipython


def bash(line: str, cell: str) -> None:
    """Run a cell as a script, and print all of its output at its end."""
    done = subprocess.run(
        ["bash", "-c", cell], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(done.stdout.strip("\n"))  # noqa: T201
    done.check_returncode()


get_ipython().register_magic_function(bash, "cell")
warnings.formatwarning = lambda message, kind, *_, **__: f"{kind.__name__}: {message}\n"
warnings.filterwarnings("ignore", message="IProgress not found")
