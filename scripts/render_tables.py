"""Rewrites the generated tables in README.md and docs/ from the files in results/.

    python scripts/render_tables.py [--check]

A table stands between `<!-- table:NAME -->` and `<!-- /table -->`; `--check` changes nothing and
ends with exit code 1 if a page differs from what the files say.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import report

from graphgate.evaluation.protocol import SETTINGS
from graphgate.evaluation.scores import SCORES
from graphgate.experiments.runner import Grid
from graphgate.experiments.table import Table, experiments_of, make_table
from graphgate.experiments.trial import Results

ROOT = Path(__file__).parents[1]
DATASETS = ("cora", "citeseer", "pubmed")


def _stored(table: str, methods: list[str] | None = None) -> Table:
    """A table of the paper from results/runs, on the public split."""
    cells = experiments_of(table, methods, DATASETS)
    splits = dict.fromkeys(DATASETS, "public")
    return make_table(Grid(cells, Results(ROOT / "results" / "runs"), splits), DATASETS)


def accuracy() -> str:
    """GATE beside the paper, one row a setting."""
    rows = []
    for setting in SETTINGS:
        for form, table in (("authors", setting), ("paper", "formulations")):
            method = "gate" if form == "authors" else "gate-paper"
            cells = [
                cell
                for cell in _stored(table, [method]).cells()
                if cell.experiment.setting == setting
            ]
            if any(cell.evaluation for cell in cells):
                rows.append([setting, f"graphgate, `{form}`", *(cell.ours() for cell in cells)])
            if form == "paper":
                rows.append([setting, "the paper (100)", *(cell.published() for cell in cells)])
    heads = ["setting", "accuracy in % (runs)", *(name.capitalize() for name in DATASETS)]
    return report.markdown(heads, rows)


def tables() -> dict[str, str]:
    """Every table whose results are stored, by name."""
    halves = {setting: _stored(setting).markdown() for setting in SCORES}
    return {"accuracy": accuracy()} | halves | report.tables()


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
