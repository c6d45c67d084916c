"use strict";
// The panel, pointer and keyboard. Ids, labels and attributes are only ever inserted as text.

const LISTED = 50; // neighbors in the list; the rest are counted
const MATCHES = 8;
// Cividis, a colormap for readers with and without color blindness.
const RAMP = [[0, 34, 78], [59, 73, 108], [112, 113, 115], [167, 157, 105], [254, 232, 56]];

const $ = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const state = {
  column: null, // the column that nodes are colored by
  hidden: new Set(), // codes of hidden categories of that column
  threshold: 0,
  selected: -1,
  hovered: -1,
  edgesShown: 0,
};
let map = null; // null until deck.gl has started, and without WebGL
let sketch = null; // the static picture until then

const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

// --- colors ---

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** A color visible on the background; on a dark one, yellow replaces dark colors. */
function onPaper(color) {
  const lightness = 0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2];
  return !dark.matches || lightness > 85 ? color : [240, 228, 66];
}

/** The color of a category; past the end of the palette lighter, then darker variants follow. */
function categoryColor(code) {
  if (code < 0) return rgb(about.noColor);
  const base = onPaper(rgb(about.colors[code % about.colors.length]));
  const turn = Math.floor(code / about.colors.length) % 3;
  if (turn === 0) return base;
  return base.map((part) => Math.round(turn === 1 ? part + (255 - part) * 0.45 : part * 0.6));
}

function rampColor(fraction) {
  const at = Math.max(0, Math.min(1, fraction)) * (RAMP.length - 1);
  const low = Math.min(RAMP.length - 2, Math.floor(at));
  return RAMP[low].map((part, i) => Math.round(part + (RAMP[low + 1][i] - part) * (at - low)));
}

function range(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 0];
}

function colorOf(node) {
  const { column } = state;
  if (!column) return rgb(about.colors[0]);
  const value = column.values[node];
  if (column.kind === "category") return categoryColor(value);
  if (Number.isNaN(value)) return rgb(about.noColor);
  const [low, high] = column.range;
  return rampColor(high > low ? (value - low) / (high - low) : 0.5);
}

function isHidden(node) {
  return state.hidden.size > 0 && state.hidden.has(state.column.values[node]);
}

const css = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;
const place = (node) => [points[2 * node], points[2 * node + 1]];

// --- the map's content ---

function paintNodes() {
  const colors = new Uint8Array(4 * N);
  for (let node = 0; node < N; node++) {
    if (isHidden(node)) continue;
    colors.set(colorOf(node), 4 * node);
    colors[4 * node + 3] = 235;
  }
  (map ?? sketch).setColors(colors);
}

/** The edges above the threshold between visible nodes, strongest first; the more, the fainter. */
function paintEdges() {
  const over = $("show-edges").checked ? edgesFrom(state.threshold) : 0;
  const chosen = [];
  for (let e = 0; e < over; e++) {
    if (!isHidden(edges[2 * e]) && !isHidden(edges[2 * e + 1])) chosen.push(e);
  }
  const drawn = chosen.slice(0, about.mostDrawnEdges);
  const positions = new Float32Array(4 * drawn.length);
  const colors = new Uint8Array(8 * drawn.length);
  const ink = dark.matches ? [205, 215, 225] : [50, 60, 72];
  const most = strengths[0] || 1;
  const strongest = Math.max(20, Math.min(200, 200 * (4000 / (drawn.length + 1)) ** 0.75));
  drawn.forEach((e, at) => {
    for (const end of [0, 1]) {
      const node = edges[2 * e + end];
      positions.set(place(node), 4 * at + 2 * end);
      colors.set(ink, 8 * at + 4 * end);
      colors[8 * at + 4 * end + 3] = 3 + strongest * (0.1 + 0.9 * (strengths[e] / most));
    }
  });
  state.edgesShown = drawn.length;
  (map ?? sketch).setLines(positions, colors);
  $("edge-count").textContent =
    `${drawn.length.toLocaleString("en")} of ${about.edges.toLocaleString("en")} shown`;
  $("edge-note").hidden = chosen.length === drawn.length;
  $("edge-note").textContent =
    `Only the strongest ${drawn.length.toLocaleString("en")} of ` +
    `${count(chosen.length, "edge")} are drawn. Lists are complete.`;
}

/** Highlights the hovered node, else the selected one, with its neighborhood. */
function paintFocus() {
  const node = state.hovered >= 0 ? state.hovered : state.selected;
  if (!map) return;
  if (node < 0) return map.setFocus(null);
  const ink = dark.matches ? [240, 240, 240] : [20, 24, 28];
  const neighbors = neighborsOf(node).filter((each) => !isHidden(each.node)).slice(0, 2000);
  const most = neighbors[0]?.value || 1;
  const widest = Math.max(0.5, Math.min(4, 40 / neighbors.length)); // else the edges of a hub merge
  const dot = (at, scale, ring, ringWidth) => ({
    at: place(at), color: [...colorOf(at), 255], scale, ring: [...ring, 255], ringWidth,
  });
  const nearest = nearestOf(node).filter((each) => !isHidden(each.node));
  const accent = rgb(dark.matches ? "#6CC0F5" : "#0072B2");
  map.setFocus({
    lines: neighbors.map(({ node: other, value }) => ({
      from: place(node), to: place(other), color: [...ink, 200], width: 1 + (widest * value) / most,
    })),
    dots: [
      ...neighbors.map((each) => dot(each.node, 1.1, dark.matches ? [20, 23, 27] : [251, 251, 250], 1)),
      ...nearest.map((each) => dot(each.node, 1.1, accent, 2)),
      dot(node, 1.6, ink, 3),
    ],
  });
}

// --- controls ---

function fillColumns() {
  columns.forEach((column, at) => {
    if (column.kind === "text") return;
    const option = element("option", column.name);
    option.value = at;
    $("color-by").append(option);
  });
}

function colorBy(column) {
  state.column = column;
  state.hidden.clear();
  if (column?.kind === "number") column.range ??= range(column.values);
  fillLegend();
  repaint();
  if (state.selected >= 0) showSelected();
}

function repaint() {
  paintNodes();
  paintEdges();
  paintFocus();
}

function fillLegend() {
  const { column } = state;
  const categorical = column?.kind === "category";
  $("legend").replaceChildren();
  $("legend").hidden = $("all-none").hidden = !categorical;
  $("scale").hidden = column?.kind !== "number";
  if (categorical) fillCategories(column);
  else if (column) fillScale(column);
}

function fillCategories(column) {
  const counts = new Map();
  for (const code of column.values) counts.set(code, (counts.get(code) ?? 0) + 1);
  const codes = [...column.names.keys(), -1].filter((code) => counts.has(code));
  for (const code of codes) {
    const label = element("label");
    const box = element("input");
    box.type = "checkbox";
    box.checked = true;
    box.dataset.code = code;
    box.addEventListener("change", () => {
      if (box.checked) state.hidden.delete(code);
      else state.hidden.add(code);
      repaint();
    });
    const swatch = element("span", "", "swatch");
    swatch.style.backgroundColor = css(categoryColor(code));
    const name = element("span", code < 0 ? "none" : column.names[code]);
    label.append(box, swatch, name, element("span", counts.get(code).toLocaleString("en"), "count"));
    const item = element("li");
    item.append(label);
    $("legend").append(item);
  }
}

function fillScale(column) {
  const context = $("ramp").getContext("2d");
  for (let x = 0; x < 256; x++) {
    context.fillStyle = css(rampColor(x / 255));
    context.fillRect(x, 0, 1, 1);
  }
  [$("scale-low").textContent, $("scale-high").textContent] = column.range.map(shortNumber);
}

function toggleAll(shown) {
  for (const box of $("legend").querySelectorAll("input")) {
    box.checked = shown;
    if (shown) state.hidden.delete(Number(box.dataset.code));
    else state.hidden.add(Number(box.dataset.code));
  }
  repaint();
}

/** The slider moves by percent of the edges, so that every step hides equally many. */
function thresholdAt(percent) {
  if (percent === 0 || !strengths.length) return 0;
  const kept = Math.ceil((strengths.length * (100 - percent)) / 100);
  return strengths[Math.max(0, kept - 1)];
}

function setThreshold() {
  state.threshold = thresholdAt(Number($("threshold").value));
  $("threshold-value").textContent = state.threshold.toFixed(3);
  $("threshold").setAttribute("aria-valuetext", state.threshold.toFixed(3));
  paintEdges();
}

// --- one node ---

/** Names and texts of a node's columns that have a value. */
function attributesOf(node) {
  return columns.map((column) => [column.name, textOf(column, node)]).filter(([, text]) => text);
}

function attributeList(node, most) {
  return attributesOf(node).slice(0, most).flatMap(([name, text]) => [
    element("dt", name), element("dd", text),
  ]);
}

function nodeButton({ node, value }, fraction, shown = true) {
  const button = element("button");
  button.type = "button";
  const swatch = element("span", "", "swatch");
  swatch.style.backgroundColor = css(colorOf(node));
  const label = columns[0]?.name === "class" ? textOf(columns[0], node) : "";
  const bar = element("span", "", "bar");
  const filled = element("span");
  filled.style.width = `${Math.round(100 * Math.max(0, Math.min(1, fraction)))}%`;
  bar.append(filled);
  const name = element("span", label ? `${idOf(node)} · ${label}` : idOf(node), "name");
  name.title = name.textContent;
  button.append(swatch, name);
  if (shown) button.append(bar, element("span", value.toFixed(3), "value"));
  button.addEventListener("click", () => select(node, true));
  const item = element("li");
  item.append(button);
  return item;
}

function showSelected() {
  const node = state.selected;
  $("selected").hidden = node < 0;
  if (node < 0) return;
  $("selected-id").textContent = idOf(node);
  $("attributes").replaceChildren(...attributeList(node, 40));
  const neighbors = neighborsOf(node);
  const most = neighbors[0]?.value || 1;
  const many = count(neighbors.length, "neighbor");
  const order = about.edgeTitle === "attention" ? `Attends to ${many}, largest first`
    : `${many}, largest ${about.edgeTitle} first`;
  $("neighbors-title").textContent = about.edgeTitle === null ? many : order;
  const items = neighbors.slice(0, LISTED)
    .map((each) => nodeButton(each, each.value / most, about.edgeTitle !== null));
  if (neighbors.length > LISTED) {
    items.push(element("li", `and ${neighbors.length - LISTED} more`, "more"));
  }
  $("neighbors").replaceChildren(...items);
  $("nearest").replaceChildren(...nearestOf(node).map((each) => nodeButton(each, each.value)));
}

function select(node, fly = false) {
  state.selected = node;
  state.hovered = -1;
  clearTimeout(hoverPaint);
  hideCard();
  showSelected();
  paintFocus();
  $("status").textContent = "";
  if (node >= 0) {
    if (fly) map?.showNode(node);
    $("panel").scrollTop = 0;
  }
}

function hideCard() {
  $("card").hidden = true;
}

let hoverPaint = 0;

function hover(node, x = 0, y = 0) {
  $("map").classList.toggle("over", node >= 0);
  if (node !== state.hovered) {
    state.hovered = node;
    clearTimeout(hoverPaint); // only where the pointer rests
    hoverPaint = setTimeout(paintFocus, 60);
    if (node >= 0) fillCard(node);
  }
  if (node < 0) return hideCard();
  const card = $("card");
  card.hidden = false;
  const { offsetWidth, offsetHeight } = card;
  card.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - offsetWidth - 4))}px`;
  card.style.top = `${y + 14 + offsetHeight > innerHeight ? Math.max(4, y - offsetHeight - 10) : y + 14}px`;
}

function fillCard(node) {
  const list = element("dl");
  list.append(...attributeList(node, 10));
  $("card").replaceChildren(element("strong", idOf(node)), list);
}

// --- pointer and keys on the map ---

/** Drags, pinches and clicks; `pressed` are the pointers that are down, by id. */
function watchPointers(area) {
  const pressed = new Map();
  let travelled = 0;
  const spot = (event) => {
    const box = area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const under = (event) => {
    const reach = (map.dotSize() / 2 + 4) / 2 ** map.view.zoom;
    return nodeAt(...map.toMap(...spot(event)), reach, isHidden);
  };
  const release = (event) => {
    pressed.delete(event.pointerId);
    area.classList.toggle("dragging", pressed.size > 0);
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (pressed.size === 0) travelled = 0;
    pressed.set(event.pointerId, spot(event));
    area.focus({ preventScroll: true });
  });
  addEventListener("pointermove", (event) => {
    const from = pressed.get(event.pointerId);
    if (!from) return;
    const to = spot(event);
    travelled += Math.hypot(to[0] - from[0], to[1] - from[1]);
    if (travelled < 4) return;
    area.classList.add("dragging");
    const other = [...pressed].find(([id]) => id !== event.pointerId)?.[1];
    if (other) pinch(from, to, other);
    else map.moveBy(from[0] - to[0], from[1] - to[1]);
    pressed.set(event.pointerId, to);
  });
  area.addEventListener("pointermove", (event) => {
    if (pressed.size === 0 && event.pointerType !== "touch") {
      hover(under(event), event.clientX, event.clientY);
    }
  });
  addEventListener("pointerup", (event) => {
    const click = pressed.has(event.pointerId) && travelled < 4;
    release(event);
    if (click) select(under(event));
  });
  addEventListener("pointercancel", release);
  area.addEventListener("pointerleave", () => hover(-1));
  area.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1);
    map.zoomBy(Math.max(-1, Math.min(1, -pixels / 240)), ...spot(event));
  }, { passive: false });
}

function pinch(from, to, other) {
  const apart = (a) => Math.max(1, Math.hypot(a[0] - other[0], a[1] - other[1]));
  map.zoomBy(Math.log2(apart(to) / apart(from)), (to[0] + other[0]) / 2, (to[1] + other[1]) / 2);
  map.moveBy((from[0] - to[0]) / 2, (from[1] - to[1]) / 2);
}

function watchKeys(area) {
  area.addEventListener("keydown", (event) => {
    const act = MAP_KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
}

const MAP_KEYS = {
  ArrowLeft: () => map.moveBy(-60, 0),
  ArrowRight: () => map.moveBy(60, 0),
  ArrowUp: () => map.moveBy(0, -60),
  ArrowDown: () => map.moveBy(0, 60),
  "+": () => map.zoomBy(0.5),
  "=": () => map.zoomBy(0.5),
  "-": () => map.zoomBy(-0.5),
  0: () => map.showAll(),
};

// --- search ---

const found = { nodes: [], active: -1 };

function showMatches() {
  const list = $("matches");
  list.replaceChildren(...found.nodes.map((node, at) => {
    const item = element("li", idOf(node));
    item.id = `match-${at}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", String(at === found.active));
    item.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      choose(node);
    });
    return item;
  }));
  list.hidden = found.nodes.length === 0;
  $("search").setAttribute("aria-expanded", String(!list.hidden));
  if (found.active >= 0) $("search").setAttribute("aria-activedescendant", `match-${found.active}`);
  else $("search").removeAttribute("aria-activedescendant");
}

function closeMatches() {
  Object.assign(found, { nodes: [], active: -1 });
  showMatches();
}

function choose(node) {
  closeMatches();
  $("search").value = idOf(node);
  select(node, true);
  if (isHidden(node)) $("status").textContent = "This node is hidden in the legend.";
}

function watchSearch() {
  const box = $("search");
  box.addEventListener("input", () => {
    Object.assign(found, { nodes: search(box.value, MATCHES), active: -1 });
    showMatches();
    const nothing = box.value.trim() && !found.nodes.length;
    $("status").textContent = nothing ? "No matching node." : "";
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.nodes.length) {
      event.preventDefault();
      const many = found.nodes.length;
      found.active = found.active < 0 && step < 0 ? many - 1 : (found.active + step + many) % many;
      showMatches();
    } else if (event.key === "Enter") {
      const node = found.nodes[Math.max(0, found.active)] ?? search(box.value, 1)[0];
      if (node !== undefined) choose(node);
    } else if (event.key === "Escape" && found.nodes.length) {
      event.stopPropagation();
      closeMatches();
    }
  });
  box.addEventListener("blur", closeMatches);
}

// --- start ---

function watchControls() {
  $("color-by").addEventListener("change", (event) => colorBy(columns[event.target.value]));
  $("show-all").addEventListener("click", () => toggleAll(true));
  $("hide-all").addEventListener("click", () => toggleAll(false));
  $("threshold").addEventListener("input", setThreshold);
  $("show-edges").addEventListener("change", paintEdges);
  $("clear").addEventListener("click", () => select(-1));
  $("zoom-in").addEventListener("click", () => map?.zoomBy(0.7));
  $("zoom-out").addEventListener("click", () => map?.zoomBy(-0.7));
  $("zoom-all").addEventListener("click", () => map?.showAll());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    hover(-1);
    select(-1);
  });
  dark.addEventListener("change", () => {
    fillLegend();
    for (const box of $("legend").querySelectorAll("input")) {
      box.checked = !state.hidden.has(Number(box.dataset.code));
    }
    repaint();
    showSelected();
  });
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
    $("zoom").hidden = true;
    return;
  }
  map = new NodeMap($("map"), renderer, { onMove: () => hover(-1), onFirst: () => sketch.remove() });
  watchPointers($("map"));
  watchKeys($("map"));
  repaint();
}

const EDGE_NOTES = {
  "attention": " Edges: attention, mean of both directions.",
  "edge score": " Edges: how likely each is, by the structure decoder.",
};

function start() {
  $("title").textContent = about.title;
  $("counts").textContent = `${count(N, "node")}, ${count(about.edges, "edge")}`;
  $("layout").textContent = `Positions: ${about.layout}.` +
    (EDGE_NOTES[about.edgeTitle] ?? "");
  $("edge-filter").hidden = about.edgeTitle === null;
  $("threshold-label").textContent = `Minimum ${about.edgeTitle}`;
  sketch = new Sketch($("map"));
  fillColumns();
  watchControls();
  watchSearch();
  const first = columns.findIndex((column) => column.kind !== "text");
  $("color-by").value = first;
  colorBy(columns[first] ?? null);
  setThreshold();
  // After the rest of the page has loaded and the sketch is on the screen.
  document.addEventListener("DOMContentLoaded", () => requestAnimationFrame(() => setTimeout(startMap)));
}

start();
