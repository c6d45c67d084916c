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
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import report

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


def tables() -> dict[str, str]:
    """Every table whose results are stored, by name."""
    return {"accuracy": accuracy()} | report.tables()


def rendered(text: str, made: dict[str, str]) -> str:
    """The text of a page with every table made anew; one without results stays as it is."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}{made[match[2]]}\n{match[3]}" if match[2] in made else match[0]

    marked = re.compile(r"(<!-- table:(\w+) -->\n).*?(<!-- /table -->)", re.DOTALL)
    return marked.sub(table, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale, made = [], tables()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        if (new := rendered(text, made)) != text:
            stale.append(page.name)
            if not check:
                page.write_text(new, encoding="utf-8")
    print("changed:" if not check else "stale:", ", ".join(stale) or "nothing")
    if not check:
        for picture in report.draw():
            print("drawn:", picture.name)
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
