"use strict";
// Everything from outside goes into the page by textContent, never as markup.
const at = (id) => document.getElementById(id);
const say = (id, text) => { at(id).textContent = text; };
const pastMax = 120, eventsMax = 200;
const rates = [], p99s = [];

function duration(ns) {
  if (ns === null || ns === undefined) return "–";
  if (ns >= 1e9) return (ns / 1e9).toFixed(2) + " s";
  return (ns / 1e6).toFixed(ns >= 1e7 ? 1 : 2) + " ms";
}

function chart(id, topId, values) {
  const svg = at(id), known = values.filter((v) => v !== null);
  const top = Math.max(...known, 1e-9);
  say(topId, known.length ? "(top of the chart: " + (top >= 10 ? top.toFixed(0) : top.toFixed(2)) + ")" : "");
  svg.setAttribute("viewBox", "0 0 " + (pastMax - 1) + " 100");
  const lines = [];
  let points = [];
  const close = () => { if (points.length) lines.push(points); points = []; };
  values.forEach((v, i) => {
    if (v === null) close(); else points.push((pastMax - values.length + i) + "," + (98 - 94 * v / top).toFixed(2));
  });
  close();
  svg.replaceChildren(...lines.map((l) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    e.setAttribute("points", l.length > 1 ? l.join(" ") : l[0] + " " + l[0]);
    return e;
  }));
}

let lastSecond = -1;
function remember(v) {
  const second = Math.floor(v.elapsed_s);
  if (v.step !== "load" || second === lastSecond) return;
  lastSecond = second;
  rates.push(v.batches_per_s);
  p99s.push(v.p99_ns === null ? null : v.p99_ns / 1e6);
  for (const list of [rates, p99s]) if (list.length > pastMax) list.shift();
  chart("rate-chart", "rate-top", rates);
  chart("p99-chart", "p99-top", p99s);
}

function cell(row, text, kind) {
  const e = document.createElement("td");
  e.textContent = text;
  if (kind) e.className = kind;
  row.append(e);
}

function nodeRow(n, lagFloor) {
  const row = document.createElement("tr");
  cell(row, n.node);
  if (!n.up) {
    cell(row, "down", "down"); cell(row, "–"); cell(row, "");
    return row;
  }
  cell(row, (n.role || "no role") + (n.state && n.state !== "normal" ? " (" + n.state + ")" : ""));
  cell(row, n.lag_ops === null ? "–" : (n.lag_ops > lagFloor ? n.lag_ops : 0) + " ops");
  const t = n.transfer;
  cell(row, t ? t.percent.toFixed(0) + " % of " + t.total_ops + " ops, " + t.ops_per_s.toFixed(0) + " ops/s" +
    (t.bytes_per_s ? ", " + (t.bytes_per_s / 1048576).toFixed(1) + " MiB/s" : "") : "");
  return row;
}

function progress(v) {
  say("scenario", v.scenario + " on " + v.target);
  say("run", v.run);
  document.title = v.step + " – " + v.scenario;
  say("step", v.step);
  say("clock", v.total_s ? Math.min(v.elapsed_s, v.total_s).toFixed(0) + " of " + v.total_s.toFixed(0) + " s" : "");
  at("bar").value = v.total_s ? Math.min(v.elapsed_s / v.total_s, 1) : 0;
  if (v.step === "load") {
    say("rate", v.batches_per_s.toFixed(0));
    say("p50", duration(v.p50_ns));
    say("p99", duration(v.p99_ns));
    say("waiting", v.waiting_batches);
    say("faults", v.faults.length ? v.faults.join(", ") : "none");
    say("next", v.next ? v.next.what + " in " + v.next.in_s.toFixed(0) + " s" : "no fault");
  } else if (v.waiting_for) {
    say("next", "waiting: " + v.waiting_for);
  }
  at("nodes").replaceChildren(...v.nodes.map((n) => nodeRow(n, v.lag_floor_ops)));
  remember(v);
}

function log(text) {
  const e = document.createElement("li");
  e.textContent = text;
  at("events").prepend(e);
  while (at("events").children.length > eventsMax) at("events").lastChild.remove();
}

function event(e) {
  if (e.kind === "gc") return; // one a second of each process: they would push out what happened to the nodes
  const rest = [e.node || e.source, e.role, e.signal, e.reason, e.detail].filter(Boolean).join(" ");
  log((e.t_ns / 1e9).toFixed(3) + " s  " + e.kind + "  " + rest);
}

function verdict(v) {
  say("verdict", v.verdict + " (exit code " + v.exit_code + ")" + (v.reasons.length ? ": " + v.reasons.join("; ") : ""));
}

const source = new EventSource("live");
const on = (kind, f) => source.addEventListener(kind, (m) => f(JSON.parse(m.data)));
on("progress", progress);
on("event", event);
on("message", log);
on("verdict", verdict);
source.addEventListener("end", () => { source.close(); say("step", "over"); });
source.onopen = () => { say("connection", ""); at("events").replaceChildren(); };
source.onerror = () => { if (source.readyState !== EventSource.CLOSED) say("connection", "The run does not answer; trying again."); };
