"use strict";
// Adds to a page that is whole without it: a cursor with values, zoom, switches for series, and flame graphs on demand. It draws nothing: a
// zoom only says which part of an axis the drawings show.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.documentElement.classList.add("scripted");

  // Numbers as text, as package axis spells them.
  const count = (v) => Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const number = (v) => (Math.abs(v) >= 1000 ? count(v) : String(Number(v.toPrecision(3))));
  const duration = (ns) => {
    for (const [size, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
      if (ns >= size * (1 - 1e-9)) return `${number(ns / size)} ${name}`;
    }
    return `${number(ns)} ns`;
  };
  const spell = { ns: duration, plain: number, ops: (v) => `${number(v)} ops`, per_s: (v) => `${number(v)}/s` };

  const seconds = (ms, digits) => {
    const s = ms / 1000;
    if (s < 60) return `${s.toFixed(digits)} s`;
    const rest = s % 60;
    return `${s.toFixed(digits)} s (${Math.floor(s / 60)}:${rest < 10 ? "0" : ""}${rest.toFixed(digits)})`;
  };
  const percentile = (x) => {
    const q = 100 * (1 - Math.pow(10, -x / 1000));
    return `p${Number(q.toFixed(Math.max(1, Math.ceil(x / 1000))))}`;
  };

  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 18e5, 36e5, 72e5, 36e6];
  const narrowest = 20; // ms that a zoom shows at least: a poll

  class Stage {
    constructor(spec) {
      this.spec = spec;
      this.root = document.getElementById(`stage-${spec.id}`);
      this.drawing = this.root.querySelector(".drawing");
      this.areas = [...this.root.querySelectorAll(".panel .area, .lanes .area")];
      this.readout = this.root.querySelector(".cursor-time");
      this.from = spec.from;
      this.to = spec.to;
      this.at = null;
      this.outputs = new Map([...this.root.querySelectorAll("output")].map((o) => [o.dataset.value, o]));
      this.cursors = this.areas.map((a) => this.mark(a, "at cursor"));
      this.selections = this.areas.map((a) => this.mark(a, "stretch selection"));
      this.listen();
      this.say(false);
      if (this.zooms()) this.ticks();
    }

    zooms() { return this.spec.kind === "time"; }

    mark(area, classes) {
      const m = document.createElement("div");
      m.className = classes;
      m.hidden = true;
      area.append(m);
      return m;
    }

    listen() {
      for (const area of this.areas) {
        area.addEventListener("pointermove", (e) => this.move(e, area));
        area.addEventListener("pointerdown", (e) => this.press(e, area));
        area.addEventListener("pointerup", (e) => this.release(e));
        area.addEventListener("pointercancel", () => this.select(null));
        area.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse" && !this.pressed) this.point(null, false); });
      }
      this.drawing.addEventListener("keydown", (e) => this.key(e));
      for (const box of this.root.querySelectorAll("input[data-series]")) {
        box.addEventListener("change", () => document.getElementById(`curve-${box.dataset.series}`).classList.toggle("hidden-series", !box.checked));
      }
      for (const b of this.root.querySelectorAll("button[data-zoom]")) b.addEventListener("click", () => this.zoom(b.dataset.zoom));
      for (const b of this.root.querySelectorAll("button[data-from]")) b.addEventListener("click", () => this.show(Number(b.dataset.from), Number(b.dataset.to)));
      if (this.zooms()) window.addEventListener("resize", () => this.ticks());
    }

    // x is the place on the axis under a pointer.
    x(e, area) {
      const r = area.getBoundingClientRect();
      const left = r.left + area.clientLeft;
      return Math.min(Math.max(this.from + ((e.clientX - left) / area.clientWidth) * (this.to - this.from), this.from), this.to);
    }

    move(e, area) {
      const x = this.x(e, area);
      this.point(x, false);
      if (this.pressed && Math.abs(e.clientX - this.pressed.client) > 6) this.select([Math.min(x, this.pressed.x), Math.max(x, this.pressed.x)]);
    }

    press(e, area) {
      if (e.button !== 0) return;
      if (this.zooms()) {
        this.pressed = { x: this.x(e, area), client: e.clientX };
        area.setPointerCapture(e.pointerId);
        if (e.pointerType === "mouse") e.preventDefault(); // no selection of text
        this.drawing.focus({ preventScroll: true });
      }
      this.point(this.x(e, area), false);
    }

    release() {
      const chosen = this.chosen;
      this.select(null);
      if (chosen) this.show(chosen[0], chosen[1]);
    }

    select(span) {
      this.chosen = span;
      if (!span) this.pressed = null;
      for (const s of this.selections) {
        s.hidden = !span;
        if (span) { s.style.setProperty("--a", span[0]); s.style.setProperty("--b", span[1]); }
      }
    }

    point(x, aloud) {
      this.at = x;
      for (const c of this.cursors) {
        c.hidden = x === null;
        if (x !== null) c.style.setProperty("--a", x);
      }
      this.say(aloud);
    }

    value(series, x) {
      const d = series.data || [];
      let lo = 0, hi = d.length;
      while (lo < hi) { // the first that begins behind x
        const mid = (lo + hi) >> 1;
        if (d[mid][0] > x) hi = mid; else lo = mid + 1;
      }
      if (this.spec.kind === "order") {
        const values = d.filter((v) => v[0] === Math.round(x)).map((v) => spell[series.unit](v[2]));
        return values.length > 0 ? values.join(", ") : "–";
      }
      if (this.zooms()) return lo > 0 && x < d[lo - 1][1] ? spell[series.unit](d[lo - 1][2]) : "–";
      if (lo === d.length) return d.length > 0 && x === d[lo - 1][0] ? spell[series.unit](d[lo - 1][2]) : "–";
      const near = lo > 0 && x - d[lo - 1][0] < d[lo][0] - x ? lo - 1 : lo;
      return spell[series.unit](d[near][2]);
    }

    say(aloud) {
      const words = [];
      for (const s of this.spec.series) {
        const text = this.at === null ? "" : this.value(s, this.at);
        const out = this.outputs.get(s.id);
        if (out) out.textContent = text;
        if (text) words.push(`${s.label} ${text}`);
      }
      this.readout.setAttribute("aria-live", aloud ? "polite" : "off");
      if (this.at === null) {
        this.readout.textContent = this.zooms() ? `showing ${seconds(this.from, 2)} to ${seconds(this.to, 2)}` : "";
      } else {
        const where = { time: () => `at ${seconds(this.at, 3)}`, percentile: () => `at ${percentile(this.at)}`, order: () => `at run ${Math.round(this.at)}` }[this.spec.kind]();
        this.readout.textContent = aloud ? `${where}: ${words.join(", ")}` : where;
      }
    }

    key(e) {
      if (e.target !== this.drawing || e.ctrlKey || e.altKey || e.metaKey) return;
      const width = this.to - this.from;
      const step = width / (e.shiftKey ? 10 : 100);
      const keys = {
        ArrowLeft: () => this.walk(-step), ArrowRight: () => this.walk(step), Home: () => this.point(this.from, true), End: () => this.point(this.to, true),
        "+": () => this.zoom("in"), "=": () => this.zoom("in"), "-": () => this.zoom("out"), Escape: () => this.zoom("all"),
      };
      if (!keys[e.key]) return;
      e.preventDefault();
      keys[e.key]();
    }

    walk(by) {
      const x = (this.at === null ? (this.from + this.to) / 2 : this.at) + by;
      const width = this.to - this.from;
      if (this.zooms() && x < this.from) this.show(this.from - width / 4, this.to - width / 4);
      if (this.zooms() && x > this.to) this.show(this.from + width / 4, this.to + width / 4);
      this.point(Math.min(Math.max(x, this.from), this.to), true);
    }

    zoom(how) {
      if (!this.zooms()) return;
      const width = this.to - this.from;
      const middle = this.at !== null && this.at >= this.from && this.at <= this.to ? this.at : (this.from + this.to) / 2;
      const share = (middle - this.from) / width; // what is under the cursor stays there
      switch (how) {
        case "in": return this.show(middle - share * width / 2, middle + (1 - share) * width / 2);
        case "out": return this.show(middle - share * width * 2, middle + (1 - share) * width * 2);
        case "left": return this.show(this.from - width / 2, this.to - width / 2);
        case "right": return this.show(this.from + width / 2, this.to + width / 2);
        default: return this.show(this.spec.from, this.spec.to);
      }
    }

    show(from, to) {
      const whole = this.spec.to - this.spec.from;
      const width = Math.min(Math.max(to - from, narrowest), whole);
      this.from = Math.min(Math.max(from, this.spec.from), this.spec.to - width);
      this.to = this.from + width;
      this.root.style.setProperty("--from", this.from);
      this.root.style.setProperty("--width", width);
      for (const svg of this.root.querySelectorAll("svg.data")) svg.setAttribute("viewBox", `${this.from} 0 ${width} 1000`);
      const all = width >= whole;
      this.root.classList.toggle("near", width < whole / 8);
      for (const b of this.root.querySelectorAll("button[data-zoom]")) {
        b.disabled = { in: width <= narrowest, out: all, all: all, left: this.from <= this.spec.from, right: this.to >= this.spec.to }[b.dataset.zoom];
      }
      if (this.at !== null && (this.at < this.from || this.at > this.to)) this.point(null, false);
      this.ticks();
      this.rows(all);
      this.say(false);
    }

    ticks() {
      const px = this.areas.length > 0 ? this.areas[0].clientWidth : 600;
      const width = this.to - this.from;
      const most = Math.max(Math.min(px / 64, 14), 3);
      const step = steps.find((s) => width / s <= most) || width / most;
      const axis = this.root.querySelector(".axis .area");
      axis.textContent = "";
      const panels = [...this.root.querySelectorAll(".panel .area")].filter((p) => !p.querySelector(".empty"));
      for (const old of this.root.querySelectorAll(".panel .at.tick")) old.remove();
      for (let i = Math.ceil(this.from / step - 1e-9); i * step <= this.to + step * 1e-9; i++) {
        const label = document.createElement("span");
        label.className = "at";
        label.textContent = String(Number((i * step / 1000).toFixed(3)));
        label.style.setProperty("--a", i * step);
        axis.append(label);
        for (const p of panels) {
          const tick = document.createElement("div");
          tick.className = "at tick";
          tick.style.setProperty("--a", i * step);
          p.prepend(tick);
        }
      }
    }

    // rows of tables that belong to a moment show only what lies in the zoom.
    rows(all) {
      const section = this.root.closest("section") || document;
      for (const row of section.querySelectorAll("tr[data-at]")) {
        const at = Number(row.dataset.at);
        row.hidden = !all && (at < this.from || at > this.to);
      }
    }
  }

  // Flame graphs are packed pages; each opens in a frame that can reach nothing outside itself.
  async function unpack(id) {
    const packed = atob(document.getElementById(id).textContent.trim().replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  async function toggleFlame(button) {
    const open = document.getElementById(`open-${button.dataset.flame}`);
    if (open) {
      open.remove();
      button.textContent = button.dataset.was;
      button.setAttribute("aria-expanded", "false");
      button.focus();
      return;
    }
    const part = document.createElement("div");
    part.className = "flame";
    part.id = `open-${button.dataset.flame}`;
    const head = document.createElement("div");
    head.className = "flame-head";
    const title = document.createElement("strong");
    title.textContent = button.dataset.title;
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    close.addEventListener("click", () => toggleFlame(button));
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = button.dataset.title;
    head.append(title, close);
    part.append(head, frame);
    document.getElementById("flames").prepend(part);
    button.dataset.was = button.textContent;
    button.textContent = "Hide";
    button.setAttribute("aria-expanded", "true");
    try {
      frame.srcdoc = await unpack(button.dataset.flame);
    } catch (err) {
      title.textContent = `${button.dataset.title}: this browser cannot unpack it (${err}); the folder of profiles holds it as a file.`;
      frame.remove();
    }
    part.scrollIntoView({ block: "nearest" });
    close.focus({ preventScroll: true });
  }

  for (const spec of data.stages) new Stage(spec);
  for (const b of document.querySelectorAll("button[data-flame]")) b.addEventListener("click", () => toggleFlame(b));
})();
