"use strict";
// The graph as arrays: decoding, the neighbors of a node, the node under a point of the map.

const SIDE = 1000; // length of the map's larger side, in map units
const KINDS = { u2: Uint16Array, u4: Uint32Array, i2: Int16Array, f4: Float32Array, f8: Float64Array };

const about = JSON.parse(document.getElementById("about").textContent);
const N = about.nodes;

/** A base64 block of the page as a typed array. */
function block(name) {
  const element = document.getElementById(`block-${name}`);
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  element.remove();
  return new KINDS[element.dataset.kind](bytes.buffer);
}

/** Computes a value on first use. */
function later(make) {
  let made;
  return () => (made ??= make());
}

const points = Float32Array.from(block("points"), (step) => (step / 65535) * SIDE);
const edges = block("edges");
const edgeValues = Float32Array.from(block("edge-values"), (step) => step / 65535);
const strengths = meanStrengths();
const percentiles = about.edgeTitle === "edge score percentile";
const edgeValueText = (value) => (percentiles ? `${Math.round(100 * value)} %` : value.toFixed(3));
const columns = about.columns.map((column, at) => ({
  ...column,
  values: column.kind === "text" ? null : block(`column-${at}`),
}));
const nearestRows = later(() => block("nearest"));
const nearestCosines = later(() => block("cosine"));

const idOf = (node) => (about.ids ? about.ids[node] : String(node));

/** A column of names or titles, which say more than ids. */
const titles = columns.find((column) => column.kind === "text" && /^(name|title|label)$/i.test(column.name));
const nameOf = (node) => titles?.texts[node] || idOf(node);

/** The value of each edge, the mean of its directions; edges are sorted by it, largest first. */
function meanStrengths() {
  const mean = new Float32Array(about.edges);
  for (let e = 0; e < mean.length; e++) {
    const [there, back] = [edgeValues[2 * e], edgeValues[2 * e + 1]];
    mean[e] = there && back ? (there + back) / 2 : there + back;
  }
  return mean;
}

/** The number of edges with at least this value; they come first. */
function edgesFrom(threshold) {
  let [low, high] = [0, strengths.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (strengths[middle] >= threshold) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The edges of each node: `list[start[i]] … list[start[i + 1] - 1]`. */
const incidence = later(() => {
  const start = new Uint32Array(N + 1);
  for (const node of edges) start[node + 1]++;
  for (let i = 0; i < N; i++) start[i + 1] += start[i];
  const next = start.slice();
  const list = new Uint32Array(edges.length);
  for (let e = 0; 2 * e < edges.length; e++) {
    list[next[edges[2 * e]]++] = e;
    list[next[edges[2 * e + 1]]++] = e;
  }
  return { start, list };
});

/** The neighbors that a node attends to, largest value first: {node, value}. */
function neighborsOf(node) {
  const { start, list } = incidence();
  const found = [];
  for (let at = start[node]; at < start[node + 1]; at++) {
    const e = list[at];
    const first = edges[2 * e] === node;
    const value = edgeValues[2 * e + (first ? 0 : 1)];
    if (value > 0) found.push({ node: edges[2 * e + (first ? 1 : 0)], value });
  }
  return found.sort((a, b) => b.value - a.value || a.node - b.node);
}

/** The nearest nodes in the embedding, nearest first: {node, value}. */
function nearestOf(node) {
  const k = about.nearest;
  return Array.from({ length: k }, (_, at) => ({
    node: nearestRows()[node * k + at],
    value: (nearestCosines()[node * k + at] / 65535) * 2 - 1,
  }));
}

/** Nodes by grid cell of the map, so that only few are searched. */
const squares = later(() => {
  const across = Math.max(1, Math.min(512, Math.round(Math.sqrt(N / 2))));
  const squareOf = (value) => Math.max(0, Math.min(across - 1, Math.floor((value / SIDE) * across)));
  const start = new Uint32Array(across * across + 1);
  const place = new Uint32Array(N);
  for (let i = 0; i < N; i++) {
    place[i] = squareOf(points[2 * i + 1]) * across + squareOf(points[2 * i]);
    start[place[i] + 1]++;
  }
  for (let s = 0; s < across * across; s++) start[s + 1] += start[s];
  const next = start.slice();
  const list = new Uint32Array(N);
  for (let i = 0; i < N; i++) list[next[place[i]]++] = i;
  return { across, squareOf, start, list };
});

/** The node nearest to a point of the map within a distance, or -1; hidden nodes are ignored. */
function nodeAt(x, y, within, isHidden) {
  const { across, squareOf, start, list } = squares();
  let [best, bestDistance] = [-1, within * within];
  for (let row = squareOf(y - within); row <= squareOf(y + within); row++) {
    for (let column = squareOf(x - within); column <= squareOf(x + within); column++) {
      const square = row * across + column;
      for (let at = start[square]; at < start[square + 1]; at++) {
        const node = list[at];
        const distance = (points[2 * node] - x) ** 2 + (points[2 * node + 1] - y) ** 2;
        if (distance <= bestDistance && !isHidden(node)) [best, bestDistance] = [node, distance];
      }
    }
  }
  return best;
}

/** The value of a column for a node as text; empty if missing. */
function textOf(column, node) {
  if (column.kind === "text") return column.texts[node];
  const value = column.values[node];
  if (column.kind === "category") return value < 0 ? "" : column.names[value];
  return Number.isNaN(value) ? "" : numberText(column, value);
}

/** A number or date of a column; years have no thousands separator. */
function numberText(column, value) {
  if (column.kind === "date") return dateText(value, !isWhole(column));
  if (!isWhole(column)) return shortNumber(value);
  return isYear(column) ? String(value) : value.toLocaleString("en", { maximumFractionDigits: 1 });
}

function isWhole(column) {
  return (column.whole ??= column.values.every((value) => Number.isNaN(value) || Number.isInteger(value)));
}

function isYear(column) {
  return (column.year ??= isWhole(column) &&
    column.values.every((value) => Number.isNaN(value) || (value >= 1000 && value < 3000)));
}

/** Days since 1970 as 2024-05-17, or 2024-05-17 13:45. */
function dateText(days, withTime) {
  const moment = new Date(Math.round(days * 1440) * 60000);
  if (Number.isNaN(moment.getTime())) return shortNumber(days);
  const text = moment.toISOString().replace("T", " ");
  return text.slice(0, text.indexOf(" ") + (withTime ? 6 : 0)).trim();
}

function shortNumber(value) {
  return Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
}

const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
