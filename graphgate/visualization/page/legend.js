"use strict";
// Color by a column: its categories, searchable if they are many, or its scale.

const LISTED_CATEGORIES = 100;
const SEARCHED_CATEGORIES = 12; // more can be searched

function fillColumns() {
  columns.forEach((column, at) => {
    if (column.kind === "text") return;
    const option = element("option", column.name);
    option.value = at;
    $("color-by").append(option);
  });
  $("color-row").hidden = !$("color-by").options.length;
}

/** Chooses the column that nodes are colored by; the caller repaints. */
function colorBy(column) {
  state.column = column;
  state.hidden.clear();
  $("color-by").value = columns.indexOf(column);
  $("legend-search").value = "";
  fillLegend();
}

function fillLegend() {
  const { column } = state;
  const categorical = column?.kind === "category";
  $("categories").hidden = !categorical;
  $("scale").hidden = !column || categorical;
  if (categorical) fillCategories(column);
  else if (column) fillScale(column);
}

/** The codes that the search in the legend finds, most frequent first if there are many. */
function listedCodes(column) {
  const counts = codeCounts(column);
  const missing = column.values.length - counts.reduce((a, b) => a + b, 0);
  const wanted = fold($("legend-search").value);
  const codes = [...column.names.keys()].filter((code) => counts[code]);
  if (codes.length > SEARCHED_CATEGORIES) codes.sort((a, b) => counts[b] - counts[a]);
  if (missing) codes.push(-1);
  return codes
    .filter((code) => categoryName(column, code).toLowerCase().includes(wanted))
    .map((code) => [code, code < 0 ? missing : counts[code]]);
}

const categoryName = (column, code) => (code < 0 ? "missing" : column.names[code]);

function fillCategories(column) {
  $("legend-search-row").hidden = column.names.length <= SEARCHED_CATEGORIES;
  const codes = listedCodes(column);
  $("legend").replaceChildren(...codes.slice(0, LISTED_CATEGORIES).map(([code, many]) => {
    const label = element("label");
    const box = element("input");
    box.type = "checkbox";
    box.checked = !state.hidden.has(code);
    box.addEventListener("change", () => setShown([code], box.checked));
    const swatch = element("span", "", "swatch");
    swatch.style.backgroundColor = css(valueColor(column, code));
    const name = nameElement(categoryName(column, code));
    label.append(box, swatch, name, element("span", many.toLocaleString("en"), "count"));
    const item = element("li");
    item.append(label);
    return item;
  }));
  const searched = $("legend-search").value.trim() !== "";
  $("show-all").textContent = searched ? "Show only these" : "Show all";
  $("hide-all").textContent = searched ? "Hide these" : "Hide all";
  const rare = column.names.length - column.colored.length;
  const more = Math.max(0, codes.length - LISTED_CATEGORIES);
  $("legend-note").textContent = [
    codes.length ? "" : "No such category.",
    more ? `${more.toLocaleString("en")} more; type to find them.` : "",
    rare > 0 ? `The ${column.colored.length} most frequent have a color, the others are gray.` : "",
  ].filter(Boolean).join(" ");
}

function setShown(codes, shown) {
  for (const code of codes) {
    if (shown) state.hidden.delete(code);
    else state.hidden.add(code);
  }
  repaint();
}

/** Shows the listed categories, or hides all but them while a search is active. */
function showListed() {
  const listed = listedCodes(state.column).map(([code]) => code);
  if ($("legend-search").value.trim()) setShown([-1, ...state.column.names.keys()], false);
  setShown(listed, true);
  fillLegend();
}

function hideListed() {
  setShown(listedCodes(state.column).map(([code]) => code), false);
  fillLegend();
}

/** A histogram in the colors of the scale, the ends of the scale, and what is beyond them. */
function fillScale(column) {
  const { low, high, least, most, below, above, known } = scaleOf(column);
  drawHistogram(column, low, high);
  const text = (value) => numberText(column, value);
  $("scale-low").textContent = below ? `≤ ${text(low)}` : text(low);
  $("scale-high").textContent = above ? `≥ ${text(high)}` : text(high);
  const missing = column.values.length - known;
  $("scale-note").textContent = [
    below + above ? `Colors are clipped: ${count(below + above, "value")} beyond the scale, ` +
      `${[below ? `down to ${text(least)}` : "", above ? `up to ${text(most)}` : ""].filter(Boolean).join(" and ")}.` : "",
    missing ? `${count(missing, "node")} without a value in gray.` : "",
  ].filter(Boolean).join(" ");
}

/** Dragging over the histogram selects the nodes between two values. */
function watchHistogram() {
  const canvas = $("ramp");
  let [from, to] = [-1, -1];
  const fraction = (event) => {
    const box = canvas.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
  };
  const draw = () => {
    const { low, high } = scaleOf(state.column);
    drawHistogram(state.column, low, high);
    const paper = canvas.getContext("2d");
    paper.globalAlpha = 0.75;
    paper.fillStyle = css(ink().paper);
    const [left, right] = [from, to].sort((a, b) => a - b).map((at) => at * canvas.width);
    paper.fillRect(0, 0, left, canvas.height);
    paper.fillRect(right, 0, canvas.width, canvas.height);
    paper.globalAlpha = 1;
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    from = to = fraction(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!canvas.hasPointerCapture(event.pointerId)) return;
    to = fraction(event);
    draw();
  });
  canvas.addEventListener("pointerup", () => {
    const { low, high, least, most } = scaleOf(state.column);
    const [left, right] = [from, to].sort((a, b) => a - b);
    if (right - left < 0.01) {
      drawHistogram(state.column, low, high);
      return selectGroup(null);
    }
    const value = (at) => (at === 0 ? least : at === 1 ? most : low + at * (high - low));
    const text = (at) => (state.column.kind === "date" ? dateText(value(at), true) : String(Number(value(at).toPrecision(6))));
    selectGroup(queryGroup(`${state.column.name}: ${text(left)} .. ${text(right)}`), false);
  });
}

function drawHistogram(column, low, high) {
  const canvas = $("ramp");
  const bars = 48;
  const counts = new Uint32Array(bars);
  for (const value of column.values) {
    if (Number.isNaN(value)) continue;
    const at = high > low ? Math.floor(((value - low) / (high - low)) * bars) : bars >> 1;
    counts[Math.max(0, Math.min(bars - 1, at))]++;
  }
  const [wide, tall, most] = [canvas.width / bars, canvas.height - 10, Math.max(...counts, 1)];
  const paper = canvas.getContext("2d");
  paper.clearRect(0, 0, canvas.width, canvas.height);
  counts.forEach((many, at) => {
    paper.fillStyle = css(rampColor((at + 0.5) / bars));
    const height = many ? Math.max(2, tall * Math.sqrt(many / most)) : 0;
    paper.fillRect(at * wide, tall - height, wide - 1, height);
    paper.fillRect(at * wide, tall + 2, wide, 8);
  });
}
