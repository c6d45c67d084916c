"use strict";
// Connects the controls, and starts the page.

const EDGE_NOTES = {
  "attention": " Edges: attention, mean of both directions.",
  "edge score percentile": " Edges: how likely each is by the structure decoder, relative to the others; 100 % is the likeliest.",
};

const firstColumn = () => columns.find((column) => column.kind !== "text");

/** The slider moves by percent of the edges, so that every step hides equally many. */
function thresholdAt(percentage) {
  if (percentage === 0 || !strengths.length) return 0;
  const kept = Math.ceil((strengths.length * (100 - percentage)) / 100);
  return strengths[Math.max(0, kept - 1)];
}

function showThreshold() {
  const text = edgeValueText(state.threshold);
  $("threshold-value").textContent = text;
  $("threshold").setAttribute("aria-valuetext", text);
}

function setThreshold() {
  state.threshold = thresholdAt(Number($("threshold").value));
  showThreshold();
  paintEdges();
  linkChanged();
}

function watchControls() {
  const on = (id, event, act) => $(id).addEventListener(event, act);
  on("color-by", "change", (event) => {
    colorBy(columns[event.target.value]);
    repaint();
    showSelected();
    linkChanged();
  });
  on("legend-search", "input", fillLegend);
  on("show-all", "click", showListed);
  on("hide-all", "click", hideListed);
  on("threshold", "input", setThreshold);
  on("show-edges", "change", () => {
    paintEdges();
    linkChanged();
  });
  on("show-names", "change", () => {
    paintFocus();
    linkChanged();
  });
  on("clear", "click", () => select(-1));
  on("clear-group", "click", () => selectGroup(null));
  on("download", "click", downloadGroup);
  on("show-group", "click", () => map?.showNodes(state.group.nodes));
  on("show-selected", "click", () => select(state.selected));
  on("zoom-in", "click", () => map?.zoomBy(0.7));
  on("zoom-out", "click", () => map?.zoomBy(-0.7));
  on("zoom-all", "click", () => map?.showAll());
  on("lasso", "click", () => map && setLasso(!lasso.on));
  on("in-view", "click", selectInView);
  on("copy-link", "click", copyLink);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName ?? "");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      $("search").focus();
    } else if (event.key === "Escape") {
      hover(-1);
      if (lasso.on || lasso.outline) setLasso(false);
      else clearOne();
    }
  });
  dark.addEventListener("change", repaint);
}

/** Runs deck.gl and the map, which the page holds as text, after the sketch is visible. */
function startMap() {
  for (const text of document.querySelectorAll("script.later")) {
    const script = document.createElement("script");
    script.textContent = text.textContent;
    text.replaceWith(script);
  }
  const renderer = rendererName();
  if (renderer === null) {
    $("message").textContent =
      "This browser does not support WebGL 2, so the map is static. Search and lists still work.";
    $("message").hidden = false;
    $("tools").hidden = true;
    return;
  }
  map = new NodeMap($("map"), renderer, linkedView(), {
    onMove: () => {
      if (state.hovered >= 0) hover(-1);
      linkChanged();
    },
    onFirst: () => {
      sketch.remove();
      if (!linkedView() && (state.selected >= 0 || state.group)) showLinked();
    },
  });
  watchPointers($("map"));
  watchKeys($("map"));
  repaint();
}

function start() {
  $("title").textContent = about.title;
  $("counts").textContent = `${count(N, "node")}, ${count(about.edges, "edge")}`;
  $("layout").textContent = `Positions: ${about.layout}.` + (EDGE_NOTES[about.edgeTitle] ?? "");
  $("edge-filter").hidden = about.edgeTitle === null;
  $("threshold-label").textContent = `Minimum ${about.edgeTitle}`;
  $("search").placeholder = "An id, a value, or neighbors > 9";
  sketch = new Sketch($("map"));
  fillColumns();
  watchControls();
  watchSearch();
  watchLink();
  watchHistogram();
  readLink();
  // After the rest of the page has loaded and the sketch is on the screen.
  document.addEventListener("DOMContentLoaded", () => requestAnimationFrame(() => setTimeout(startMap)));
}

start();
