"use strict";
// The map until deck.gl has started, about a second later: the same picture on a plain canvas.

const MOST_SKETCHED = 20000; // lines; more would take longer than the sketch is visible

/** The size of a dot, in pixels, when all nodes are in view. */
const firstDotSize = () => Math.max(2.5, Math.min(7, 420 / Math.sqrt(N)));

/** Pixels per map unit when all nodes are in view. */
const firstScale = ({ clientWidth, clientHeight }) => (0.94 * Math.min(clientWidth, clientHeight)) / SIDE;

class Sketch {
  constructor(parent) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "sketch";
    parent.append(this.canvas);
    this.dots = this.lines = null;
  }

  setColors(colors) {
    this.dots = colors; // drawn with the lines, which always follow
  }

  setLines(positions, colors) {
    this.lines = { positions, colors };
    this.draw();
  }

  setFocus() {} // nothing is highlighted yet

  draw() {
    if (!this.dots || !this.lines) return;
    const { parentElement: parent } = this.canvas;
    const { target, doublings } = linkedView() ?? { target: [SIDE / 2, SIDE / 2], doublings: 0 };
    const [width, height] = [parent.clientWidth, parent.clientHeight];
    const scale = firstScale(parent) * 2 ** doublings;
    Object.assign(this.canvas, { width, height });
    const paper = this.canvas.getContext("2d");
    const across = (x) => width / 2 + (x - target[0]) * scale;
    const down = (y) => height / 2 - (y - target[1]) * scale;
    const { positions, colors } = this.lines;
    for (let at = 0; at < Math.min(positions.length / 4, MOST_SKETCHED); at++) {
      paper.strokeStyle = this.ink(colors, 2 * at);
      paper.beginPath();
      paper.moveTo(across(positions[4 * at]), down(positions[4 * at + 1]));
      paper.lineTo(across(positions[4 * at + 2]), down(positions[4 * at + 3]));
      paper.stroke();
    }
    const size = firstDotSize();
    for (let node = 0; node < N; node++) {
      paper.fillStyle = this.ink(this.dots, node);
      const [x, y] = [across(points[2 * node]), down(points[2 * node + 1])];
      if (size < 4) paper.fillRect(x - size / 2, y - size / 2, size, size);
      else {
        paper.beginPath();
        paper.arc(x, y, size / 2, 0, 2 * Math.PI);
        paper.fill();
      }
    }
  }

  ink(colors, at) {
    const [red, green, blue, alpha] = colors.subarray(4 * at, 4 * at + 4);
    return `rgb(${red} ${green} ${blue} / ${alpha / 255})`;
  }

  remove() {
    this.canvas.remove();
  }
}
