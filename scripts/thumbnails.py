"""Keeps the first figure of every tutorial, small, for the page that lists them.

make site && python -m scripts.thumbnails
"""

import re
from pathlib import Path

import matplotlib.image
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build" / "site" / "tutorials"
THUMBNAILS = ROOT / "docs" / "images" / "tutorials"
WIDTH, HEIGHT = 480, 270  # pixels


def first_figure(page: Path) -> Path | None:
    """The file of the first figure that the code of a page has drawn."""
    sources = re.findall(r'<img[^>]* src="(\.\./_images/[0-9a-f]{32,}\.png)"', page.read_text())
    return (page.parent / sources[0]).resolve() if sources else None


def draw(figure: Path, thumbnail: Path) -> None:
    """The figure on a white card, as large as fits."""
    card = plt.figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100)
    axes = card.add_axes((0.02, 0.03, 0.96, 0.94))
    axes.imshow(matplotlib.image.imread(figure), interpolation="antialiased")
    axes.axis("off")
    card.savefig(thumbnail)
    plt.close(card)


if __name__ == "__main__":
    THUMBNAILS.mkdir(exist_ok=True)
    for page in sorted(SITE.glob("[0-9]-*.html")):
        figure = first_figure(page)
        print(f"{page.stem}: {figure.name if figure else 'no figure'}")
        if figure is not None:
            draw(figure, THUMBNAILS / f"{page.stem}.png")
