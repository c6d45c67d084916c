"""Rewrites the generated tables in README.md and docs/ from the files in results/.

    python scripts/render_tables.py [--check]

A table stands between `<!-- table:NAME -->` and `<!-- /table -->`; `--check` changes nothing and
ends with exit code 1 if a page differs from what the files say.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TITLES = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed"}


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: dict[str, Any] | None) -> str:
    if value is None:
        return "—"
    return f"{value['mean']:.1f}" + ("" if value["std"] is None else f" ± {value['std']:.1f}")


def accuracy() -> str:
    """GATE beside the paper, one row a setting and preset."""
    rows = []
    for setting in ("transductive", "inductive"):
        for preset in ("authors", "paper"):
            found = {
                name: _load(path)
                for name in TITLES
                if (path := ROOT / f"results/gate/{name}-{setting}-{preset}.json").exists()
            }
            if found:
                cells = [
                    f"{_cell(found[name])} ({len(found[name]['runs'])})" if name in found else "—"
                    for name in TITLES
                ]
                rows.append([setting, f"graphgate, `{preset}`", *cells])
        published = [
            _cell(_load(ROOT / f"results/gate/{name}-{setting}-authors.json")["paper"])
            for name in TITLES
        ]
        rows.append([setting, "the paper (100)", *published])
    return _markdown(["setting", "accuracy in % (runs)", *TITLES.values()], rows)


TABLES: dict[str, Callable[[], str]] = {"accuracy": accuracy}


def rendered(text: str) -> str:
    """The text of a page with every table made anew."""

    def table(match: re.Match[str]) -> str:
        return f"<!-- table:{match[1]} -->\n{TABLES[match[1]]()}\n<!-- /table -->"

    return re.sub(r"<!-- table:(\w+) -->\n.*?<!-- /table -->", table, text, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        if (new := rendered(text)) != text:
            stale.append(page.name)
            if not check:
                page.write_text(new, encoding="utf-8")
    print("changed:" if not check else "stale:", ", ".join(stale) or "nothing")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
