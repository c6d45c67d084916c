"use strict";
// The map, drawn by deck.gl. Independent of the controls.

const REST_FRAMES = 8; // frames at rest before a slow map is redrawn
const SLOW_FRAMES_MS = 50; // a map with longer frames is slow
const CLOSEST = 4; // doublings at which a neighborhood is shown at most
const FAR = 0.25; // a slow map is redrawn once it has moved by this fraction of its side

// luma.gl expects one field per line.
const marksBlock = `layout(std140) uniform marksUniforms {
  float size;
  float fade;
} marks;
`;
const marks = {
  name: "marks", vs: marksBlock, fs: marksBlock, uniformTypes: { size: "f32", fade: "f32" },
};

/**
 * Draws plain vertices. deck.gl's own layers draw one instance per node or edge, which takes
 * software renderers about 35 µs each: seconds per frame for 60,000.
 */
class VertexLayer extends deck.Layer {
  initializeState() {
    this.getAttributeManager().remove(["instancePickingColors"]);
    const model = new luma.Model(this.context.device, {
      ...this.getShaders({
        vs: this.props.vs, fs: this.props.fs, modules: [deck.project32, marks],
      }),
      id: this.props.id,
      topology: this.props.topology,
      bufferLayout: [
        { name: "positions", format: "float32x2" },
        { name: "colors", format: "unorm8x4" },
      ],
    });
    this.setState({ model, buffers: {} });
  }

  updateState({ props, oldProps }) {
    for (const name of ["positions", "colors"]) {
      if (props[name] === oldProps[name]) continue;
      const { buffers, model } = this.state;
      buffers[name]?.destroy();
      buffers[name] = this.context.device.createBuffer({ data: props[name] });
      model.setAttributes({ [name]: buffers[name] });
    }
  }

  draw() {
    if (!this.props.count) return;
    const { model } = this.state;
    model.setVertexCount(this.props.count);
    model.shaderInputs.setProps({ marks: { size: this.props.size, fade: this.props.fade } });
    model.draw(this.context.renderPass);
  }

  finalizeState(context) {
    super.finalizeState(context);
    for (const buffer of Object.values(this.state.buffers)) buffer.destroy();
    this.state.model.destroy();
  }
}
VertexLayer.layerName = "VertexLayer";
VertexLayer.defaultProps = { count: 0, size: 1, fade: 1 };

const DOTS = {
  topology: "point-list",
  vs: `#version 300 es
in vec2 positions;
in vec4 colors;
flat out vec4 color;
flat out float width;
void main() {
  color = vec4(colors.rgb, colors.a * marks.fade);
  width = marks.size * project.devicePixelRatio;
  gl_PointSize = width + 1.0;
  gl_Position = project_position_to_clipspace(vec3(positions, 0.0), vec3(0.0), vec3(0.0));
  if (colors.a == 0.0) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`,
  fs: `#version 300 es
precision highp float;
flat in vec4 color;
flat in float width;
out vec4 fragment;
void main() {
  float outside = length(gl_PointCoord - 0.5) * (width + 1.0) - 0.5 * width;
  if (outside > 0.5) discard;
  fragment = vec4(color.rgb, color.a * min(1.0, 0.5 - outside));
}`,
};

const LINES = {
  topology: "line-list",
  vs: `#version 300 es
in vec2 positions;
in vec4 colors;
flat out vec4 color;
void main() {
  color = vec4(colors.rgb, colors.a * marks.fade);
  gl_Position = project_position_to_clipspace(vec3(positions, 0.0), vec3(0.0), vec3(0.0));
}`,
  fs: `#version 300 es
precision highp float;
flat in vec4 color;
out vec4 fragment;
void main() { fragment = color; }`,
};

/** The name of the WebGL renderer, or null without WebGL 2. */
function rendererName() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return null;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}

/**
 * Nodes, edges and the highlighted neighborhood. Where drawing every frame is too slow (no GPU, very
 * many nodes), the rendered image is moved instead, and redrawn when it rests or has moved far.
 */
class NodeMap {
  /** `onMove` is called when the view changes, `onFirst` after the first frame. */
  constructor(parent, renderer, linked, { onMove, onFirst }) {
    this.parent = parent;
    Object.assign(this, { onMove, onFirst });
    this.measure();
    this.dots = { positions: points, colors: new Uint8Array(4 * N) };
    this.lines = { positions: new Float32Array(4), colors: new Uint8Array(8), count: 0 };
    this.focus = { lines: [], dots: [], on: false };
    this.frames = 0;
    const software = /swiftshader|llvmpipe|software/i.test(renderer);
    this.slow = software;
    this.names = [];
    this.view = this.asked = this.drawn = this.linkedView(linked);
    this.deck = new deck.Deck({
      parent,
      views: new deck.OrthographicView({ flipY: false }),
      viewState: this.view,
      controller: false,
      useDevicePixels: software ? 1 : true,
      deviceProps: {
        type: "webgl", webgl: { antialias: !software, depth: false, stencil: false },
      },
      parameters: { depthCompare: "always", depthWriteEnabled: false },
      onResize: () => this.resized(),
      onAfterRender: () => this.rendered(),
      getCursor: () => "inherit",
      layers: [],
    });
  }

  /** Remembers the size, which browsers would otherwise compute again for every move. */
  measure() {
    const { clientWidth, clientHeight } = this.parent;
    this.size = { clientWidth, clientHeight };
  }

  /** The view that shows every node. */
  wholeView() {
    const zoom = Math.log2(firstScale(this.size));
    return { target: [SIDE / 2, SIDE / 2, 0], zoom, whole: true };
  }

  /** The view that a link names, {target, doublings}; without one, that of every node. */
  linkedView(linked) {
    const whole = this.wholeView();
    return linked ? { target: linked.target, zoom: whole.zoom + linked.doublings } : whole;
  }

  goTo(linked) {
    this.setView(this.linkedView(linked));
  }

  resized() {
    this.measure();
    this.view = this.view.whole ? this.wholeView() : this.view;
    this.draw();
    this.placeNames();
  }

  setView({ target, zoom, whole = false }) {
    const least = this.wholeView().zoom;
    this.view = { target, zoom: Math.max(least - 2, Math.min(least + 9, zoom)), whole };
    this.idle = 0;
    if (!this.moving) this.watchFrames(performance.now(), 0);
    this.moving = true;
    if (!this.slow || this.isFar()) this.draw();
    this.slide();
    this.placeNames();
    this.onMove();
  }

  isFar() {
    const { clientWidth, clientHeight } = this.size;
    const gone = this.view.target.map((at, i) => Math.abs(at - this.asked.target[i]));
    const far = Math.max(gone[0] / clientWidth, gone[1] / clientHeight) * 2 ** this.view.zoom;
    return far > FAR || Math.abs(this.view.zoom - this.asked.zoom) > 1;
  }

  /**
   * Follows a movement to its end, and detects whether drawing every frame is too slow.
   * Rest is counted in frames, because a timer would also fire during a long one.
   */
  watchFrames(last, long) {
    requestAnimationFrame((now) => {
      const longer = now - last > SLOW_FRAMES_MS ? long + 1 : 0;
      if (longer >= 4) this.slow = true;
      if (++this.idle < REST_FRAMES) return this.watchFrames(now, longer);
      this.moving = false;
      if (this.asked !== this.view) this.draw();
    });
  }

  rendered() {
    if (this.frames++ === 0) this.started();
    this.drawn = this.asked;
    this.slide();
  }

  started() {
    const canvas = this.deck.getCanvas();
    canvas.removeAttribute("tabindex"); // its parent has the keyboard
    canvas.setAttribute("aria-hidden", "true");
    this.onFirst();
  }

  /** Moves the rendered image to the current view. */
  slide() {
    const scale = 2 ** this.view.zoom;
    const right = (this.drawn.target[0] - this.view.target[0]) * scale;
    const down = (this.view.target[1] - this.drawn.target[1]) * scale;
    const larger = 2 ** (this.view.zoom - this.drawn.zoom);
    const still = right === 0 && down === 0 && larger === 1;
    this.deck.getCanvas().style.transform = still
      ? "" : `translate(${right}px, ${down}px) scale(${larger})`;
  }

  /** The zoom relative to the view of all nodes, in doublings. */
  doublings() {
    return this.view.zoom - this.wholeView().zoom;
  }

  dotSize() {
    const grown = 2 ** (0.35 * this.doublings());
    return Math.max(1.5, Math.min(14, firstDotSize() * grown));
  }

  draw() {
    const { dots, lines, focus } = this;
    const size = this.dotSize();
    const strong = Math.max(0.5, Math.min(3, 2 ** (0.5 * this.doublings()))); // fewer edges are in view
    this.asked = this.view;
    this.deck.setProps({
      viewState: this.view,
      layers: [
        new VertexLayer({
          id: "edges", ...LINES, positions: lines.positions, colors: lines.colors,
          count: 2 * lines.count, fade: focus.on ? 0.15 * strong : strong,
        }),
        new VertexLayer({
          id: "nodes", ...DOTS, positions: dots.positions, colors: dots.colors,
          count: N, size, fade: focus.on ? 0.17 : 1,
        }),
        ...(focus.on ? this.focusLayers(size) : []), // created only when needed
      ],
    });
  }

  focusLayers(size) {
    const { lines, dots } = this.focus;
    return [
      new deck.LineLayer({
        id: "focus-edges", data: lines, widthUnits: "pixels",
        getSourcePosition: (line) => line.from, getTargetPosition: (line) => line.to,
        getColor: (line) => line.color, getWidth: (line) => line.width,
      }),
      new deck.ScatterplotLayer({
        id: "focus-nodes", data: dots, radiusUnits: "pixels", stroked: true,
        lineWidthUnits: "pixels", getPosition: (dot) => dot.at, getFillColor: (dot) => dot.color,
        getRadius: (dot) => (size / 2) * dot.scale + 1.5, getLineColor: (dot) => dot.ring,
        getLineWidth: (dot) => dot.ringWidth, updateTriggers: { getRadius: size },
      }),
    ];
  }

  /** Colors, RGBA per node; transparent nodes are hidden. */
  setColors(colors) {
    this.dots.colors = colors;
    this.draw();
  }

  setLines(positions, colors) {
    this.lines = { positions, colors, count: positions.length / 4 };
    this.draw();
  }

  /** Highlights nodes and lines and fades the rest; null clears the highlight. */
  setFocus(focus) {
    this.focus = focus ? { ...focus, on: true } : { lines: [], dots: [], on: false };
    this.draw();
  }

  /** Pixels -> map units, and back. */
  toMap(x, y) {
    const scale = 2 ** this.view.zoom;
    const { clientWidth, clientHeight } = this.size;
    const [left, low] = this.view.target;
    return [left + (x - clientWidth / 2) / scale, low - (y - clientHeight / 2) / scale];
  }

  toPixels(node) {
    return this.spotOf(points[2 * node], points[2 * node + 1]);
  }

  spotOf(x, y) {
    const scale = 2 ** this.view.zoom;
    const { clientWidth, clientHeight } = this.size;
    const [left, low] = this.view.target;
    return [clientWidth / 2 + (x - left) * scale, clientHeight / 2 - (y - low) * scale];
  }

  moveBy(right, down) {
    const scale = 2 ** this.view.zoom;
    const [x, y] = this.view.target;
    this.setView({ zoom: this.view.zoom, target: [x + right / scale, y - down / scale, 0] });
  }

  /** Zooms about a pixel of the map, or about its center. */
  zoomBy(steps, x = this.size.clientWidth / 2, y = this.size.clientHeight / 2) {
    const before = this.toMap(x, y);
    this.setView({ target: this.view.target, zoom: this.view.zoom + steps });
    const after = this.toMap(x, y);
    const target = [0, 1].map((i) => this.view.target[i] + before[i] - after[i]);
    this.setView({ zoom: this.view.zoom, target: [...target, 0] });
  }

  showAll() {
    this.flyTo(this.wholeView());
  }

  /** Moves so that the nodes fill most of the map, unless they do already. */
  showNodes(nodes) {
    const [low, high] = [[Infinity, Infinity], [-Infinity, -Infinity]];
    for (const node of nodes) {
      for (const i of [0, 1]) {
        low[i] = Math.min(low[i], points[2 * node + i]);
        high[i] = Math.max(high[i], points[2 * node + i]);
      }
    }
    const { clientWidth, clientHeight } = this.size;
    const sides = [clientWidth, clientHeight];
    const filled = (zoom) => [0, 1].map((i) => ((high[i] - low[i]) * 2 ** zoom) / sides[i]);
    const corners = [this.spotOf(...low), this.spotOf(...high)];
    const inside = corners.every((spot) => spot.every((at, i) => at > 0.04 * sides[i] && at < 0.96 * sides[i]));
    if (inside && Math.max(...filled(this.view.zoom)) > 0.3) return;
    const whole = this.wholeView();
    const fitting = Math.log2(0.78 / Math.max(1e-9, ...filled(0)));
    const zoom = Math.min(whole.zoom + CLOSEST, fitting);
    if (zoom <= whole.zoom) return this.flyTo(whole);
    this.flyTo({ zoom, target: [0, 1].map((i) => (low[i] + high[i]) / 2).concat(0) });
  }

  // --- names ---

  /** Writes names at places of the map, [{at, text, node}]; earlier ones hide those they overlap. */
  setNames(names) {
    const area = document.getElementById("names");
    this.names = names.map(({ at, text, node }) => {
      const made = document.createElement("span");
      made.textContent = text.length > 40 ? `${text.slice(0, 39)}…` : text;
      made.className = node ? "node" : "";
      return { at, made, node };
    });
    area.replaceChildren(...this.names.map(({ made }) => made));
    for (const name of this.names) {
      Object.assign(name, { wide: name.made.offsetWidth, tall: name.made.offsetHeight });
    }
    this.placeNames();
  }

  placeNames() {
    const taken = [];
    const gap = this.dotSize() / 2 + 5;
    for (const { at, made, wide, tall, node } of this.names) {
      const [x, y] = this.spotOf(...at);
      const [left, top] = [x - wide / 2, node ? y - tall - gap : y - tall / 2];
      const box = [left, top, left + wide, top + tall];
      const free = taken.every((other) =>
        box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
      made.style.visibility = free ? "visible" : "hidden";
      made.style.transform = `translate(${left}px, ${top}px)`;
      if (free) taken.push(box);
    }
  }

  // --- movement ---

  /** Animates for a third of a second, or jumps if reduced motion is preferred. */
  flyTo(goal) {
    cancelAnimationFrame(this.flight);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.setView(goal);
    const [start, from] = [performance.now(), this.view];
    const step = (now) => {
      const t = Math.max(0, Math.min(1, (now - start) / 350));
      const s = t * t * (3 - 2 * t);
      const mix = (a, b) => a + (b - a) * s;
      this.setView(t === 1 ? goal : {
        zoom: mix(from.zoom, goal.zoom),
        target: [0, 1].map((i) => mix(from.target[i], goal.target[i])).concat(0),
      });
      if (t < 1) this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }
}
