"use strict";
// What is shown, and how it is drawn: nodes, edges, the neighborhood of a node, names on the map.

const INK = 0.07; // the fraction of the map that edges cover at most
const DARKEST = 100; // alpha of an edge, of 255
const SHORT = 40; // map units; longer edges are fainter, else a few of them hide the map
const MOST_FOCUSED = 2000; // neighbors that are highlighted
const NAMED = 10; // nodes of a neighborhood with a name on the map
const MOST_NAMED_CATEGORIES = 40;

const $ = (id) => document.getElementById(id);
const state = {
  column: null, // the column that nodes are colored by
  hidden: new Set(), // codes of hidden categories of that column
  threshold: 0,
  selected: -1,
  hovered: -1,
  group: null, // {nodes, members, title, query or outline}
  edgesShown: 0,
};
let map = null; // null until deck.gl has started, and without WebGL
let sketch = null; // the static picture until then

const place = (node) => [points[2 * node], points[2 * node + 1]];

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** A name that may be broken after _ - / and . */
function nameElement(text) {
  const made = element("span", "", "name");
  text.split(/(?<=[_\-/.])/).forEach((part, at) => made.append(...(at ? [element("wbr")] : []), part));
  return made;
}

function colorOf(node) {
  const { column } = state;
  return column ? valueColor(column, column.values[node]) : PALETTE[0];
}

function isHidden(node) {
  return state.hidden.size > 0 && state.hidden.has(state.column.values[node]);
}

/** Whether a node's category is too rare for a color; such nodes are faint, to hide no other. */
function isRare(node) {
  const { column } = state;
  return column?.kind === "category" && column.values[node] >= 0 && !paletteOf(column).has(column.values[node]);
}

function repaint() {
  paintNodes();
  paintEdges();
  paintFocus();
}

function paintNodes() {
  const colors = new Uint8Array(4 * N);
  const members = state.group?.members;
  for (let node = 0; node < N; node++) {
    if (isHidden(node)) continue;
    colors.set(colorOf(node), 4 * node);
    colors[4 * node + 3] = members && !members[node] ? 38 : isRare(node) ? 90 : 235;
  }
  (map ?? sketch).setColors(colors);
}

/** The edges above the threshold between visible nodes, strongest first. */
function shownEdges() {
  const over = $("show-edges").checked ? edgesFrom(state.threshold) : 0;
  const members = state.group?.members;
  const chosen = [];
  for (let e = 0; e < over; e++) {
    const [u, v] = [edges[2 * e], edges[2 * e + 1]];
    if (!isHidden(u) && !isHidden(v) && (!members || (members[u] && members[v]))) chosen.push(e);
  }
  return chosen;
}

/**
 * Draws edges by importance: stronger ones are darker. All together cover a fixed fraction of the
 * map, so that the more there are and the longer, the fainter is each.
 */
function paintEdges() {
  const chosen = shownEdges();
  const drawn = chosen.slice(0, about.mostDrawnEdges);
  const lengths = drawn.map((e) => {
    const [[x1, y1], [x2, y2]] = [place(edges[2 * e]), place(edges[2 * e + 1])];
    return Math.hypot(x1 - x2, y1 - y2);
  });
  const darkest = drawn.map((e) => DARKEST * importance(e, about.edges));
  const thinner = lengths.map((length) => SHORT / Math.max(SHORT, length));
  const covered = lengths.reduce((sum, length, at) => sum + (darkest[at] / 255) * thinner[at] * length, 0);
  const room = (INK * SIDE * SIDE * firstScale($("map"))) / (covered || 1);
  const positions = new Float32Array(4 * drawn.length);
  const colors = new Uint8Array(8 * drawn.length);
  const shade = ink().edge;
  drawn.forEach((e, at) => {
    const alpha = Math.max(2, darkest[at] * Math.min(1, room * thinner[at]));
    for (const end of [0, 1]) {
      positions.set(place(edges[2 * e + end]), 4 * at + 2 * end);
      colors.set([...shade, alpha], 8 * at + 4 * end);
    }
  });
  state.edgesShown = drawn.length;
  (map ?? sketch).setLines(positions, colors);
  $("edge-count").textContent =
    `${drawn.length.toLocaleString("en")} of ${about.edges.toLocaleString("en")}`;
  $("edge-note").hidden = chosen.length === drawn.length;
  $("edge-note").textContent =
    `Only the strongest ${drawn.length.toLocaleString("en")} of ` +
    `${count(chosen.length, "edge")} are drawn. Lists are complete.`;
}

/** From 1 for the strongest edge to 0.15 for the weakest; edges without values are equal. */
function importance(rank, many) {
  return about.edgeTitle === null ? 1 : 0.15 + 0.85 * (1 - rank / many) ** 2;
}

/** The nodes that are in view when a node is selected: its neighbors, or its nearest if it has few. */
function surroundings(node) {
  const { neighbors, nearest } = neighborhood(node);
  const close = neighbors.length < 3 ? nearest : nearest.slice(0, 3);
  return [node, ...[...neighbors, ...close].map((each) => each.node)];
}

/** The neighbors and nearest nodes of a node that are not hidden. */
function neighborhood(node) {
  const shown = (each) => !isHidden(each.node);
  return {
    neighbors: neighborsOf(node).filter(shown).slice(0, MOST_FOCUSED),
    nearest: nearestOf(node).filter(shown),
  };
}

/** Highlights the neighborhood of the selected node, else of the hovered one, and fades the rest. */
function paintFocus() {
  const node = state.selected >= 0 ? state.selected : state.hovered;
  if (!map) return;
  if (node < 0) {
    map.setFocus(null);
    return nameCategories();
  }
  const { neighbors, nearest } = neighborhood(node);
  const { ring, paper, accent } = ink();
  const many = neighbors.length;
  const faint = Math.max(20, Math.min(150, 2400 / many));
  const dot = (at, scale, color, ringWidth) => ({
    at: place(at), color: [...colorOf(at), 255], scale, ring: [...color, 255], ringWidth,
  });
  // Few lines by their values; of many, which merge, the first stand out.
  const ranked = Math.min(1, many / 40);
  const strong = neighbors.map(({ value }, rank) =>
    (1 - ranked) * (value / neighbors[0].value) + ranked * importance(rank, many) ** 2);
  const size = many > 60 ? 0.9 : 1.1;
  map.setFocus({
    // The strongest last, so that they are on top.
    lines: neighbors.map(({ node: other }, rank) => ({
      from: place(node),
      to: place(other),
      color: [...colorOf(other), faint + (220 - faint) * strong[rank]],
      width: 1 + 2 * strong[rank] * Math.min(1, 40 / many + 0.3),
    })).reverse(),
    dots: [
      ...neighbors.map((each) => dot(each.node, size, paper, 1)),
      ...nearest.map((each) => dot(each.node, 1.2, accent, 2)),
      ...(state.hovered >= 0 && state.hovered !== node ? [dot(state.hovered, 1.3, ring, 2)] : []),
      dot(node, 1.7, ring, 3),
    ],
  });
  const named = [...nearest.slice(0, NAMED / 2), ...neighbors.slice(0, NAMED / 2)];
  const nodes = [...new Set([node, ...named.map((each) => each.node)])];
  map.setNames(nodes.map((each) => ({ at: place(each), text: nameOf(each), node: true })));
}

/** Writes the name of each category where it is densest. */
function nameCategories() {
  const { column } = state;
  const few = column?.kind === "category" && column.colored.length <= MOST_NAMED_CATEGORIES;
  if (!few || !$("show-names").checked || column.names.length < 2) return map.setNames([]);
  column.centers ??= densest(column);
  map.setNames(column.centers
    .filter(({ code }) => !state.hidden.has(code) && paletteOf(column).has(code))
    .map(({ code, at }) => ({ at, text: spelledName(column, code) })));
}

/** A category as it reads on the map; a number says nothing without its column. */
function spelledName(column, code) {
  const name = column.names[code].replaceAll("_", " ");
  return /^-?[\d.]+$/.test(name) || /^(true|false)$/.test(name) ? `${column.name} ${name}` : name;
}

/** The middle of the densest square of each category, of the largest category first: {code, at}. */
function densest(column) {
  const across = 14;
  const square = (node) => place(node).map((at) => Math.min(across - 1, Math.floor((at / SIDE) * across)));
  const sums = column.names.map(() => new Map());
  column.values.forEach((code, node) => {
    if (code < 0) return;
    const [x, y] = square(node);
    const key = y * across + x;
    const sum = sums[code].get(key) ?? [0, 0, 0];
    sums[code].set(key, [sum[0] + 1, sum[1] + points[2 * node], sum[2] + points[2 * node + 1]]);
  });
  return [...codeCounts(column).entries()].sort((a, b) => b[1] - a[1])
    .filter(([, many]) => many)
    .map(([code]) => {
      const [many, x, y] = [...sums[code].values()].reduce((a, b) => (b[0] > a[0] ? b : a));
      return { code, at: [x / many, y / many] };
    });
}
