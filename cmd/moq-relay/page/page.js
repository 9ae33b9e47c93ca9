// The live page of the relay: asks the admin API once a second and draws the last minutes. No libraries, nothing from
// elsewhere.
"use strict";

const WINDOW = 300_000; // ms shown
const STAGES = [
  ["ingest", "ingest", "capture → relay"],
  ["relay", "relay", "relay → connection"],
  ["delivery", "delivery", "connection → acknowledged"],
  ["end_to_end", "end to end", "capture → shown, as players report"],
];
const points = [];
const charts = [];

const $ = (id) => document.getElementById(id);
// color resolves a colour of the style sheet for the canvas, which knows no variables.
function color(name) {
  document.body.style.setProperty("--probe", `var(${name})`);
  return getComputedStyle($("probe")).color;
}

function element(tag, props = {}, ...children) {
  const e = Object.assign(document.createElement(tag), props);
  e.append(...children);
  return e;
}

// A chart draws lines over time: each has a colour and the value of a point, which may be undefined.
function addChart(parent, title, note, lines, format) {
  const value = element("span");
  const canvas = element("canvas");
  $(parent).append(element("div", { className: "chart" }, element("h3", { title: note }, title, value), canvas));
  charts.push({ canvas, value, lines, format });
}

// nice rounds up to 1, 2 or 5 times a power of ten.
function nice(v) {
  const power = 10 ** Math.floor(Math.log10(v));
  for (const m of [1, 2, 5, 10]) if (v <= m * power) return m * power;
  return v;
}

function draw(chart, now) {
  const { canvas, lines, format } = chart;
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const c = canvas.getContext("2d");
  c.scale(scale, scale);
  c.font = "11px system-ui, sans-serif";
  const left = 66;
  const bottom = height - 16;
  let most = 0;
  for (const p of points) for (const l of lines) most = Math.max(most, l.value(p) ?? 0);
  const top = most > 0 ? nice(most) : 0;
  const x = (t) => left + ((t - (now - WINDOW)) / WINDOW) * (width - left - 4);
  const y = (v) => bottom - (top ? v / top : 0) * (bottom - 8);
  c.fillStyle = color("--dim");
  c.strokeStyle = color("--line");
  c.textAlign = "right";
  for (const share of top ? [0, 0.5, 1] : [0]) {
    const at = Math.round(y(top * share)) + 0.5;
    c.beginPath();
    c.moveTo(left, at);
    c.lineTo(width - 4, at);
    c.stroke();
    c.fillText(format(top * share), left - 6, at + 4);
  }
  c.textAlign = "center";
  for (let minute = 1; minute < WINDOW / 60_000; minute++) {
    if (width > 400 || minute % 2 === 0) c.fillText(`−${minute} min`, x(now - minute * 60_000), height - 3);
  }
  for (const l of lines) {
    c.strokeStyle = color(l.color);
    c.lineWidth = 1.5;
    c.lineJoin = "round";
    c.beginPath();
    let before = 0;
    for (const p of points) {
      const v = l.value(p);
      if (v === undefined) continue;
      // A gap of more than a few seconds is a gap.
      if (p.t - before > 3500) c.moveTo(x(p.t), y(v));
      else c.lineTo(x(p.t), y(v));
      before = p.t;
    }
    c.stroke();
  }
  const last = points.at(-1);
  const shown = lines.map((l) => last && l.value(last)).map((v) => (v === undefined ? "–" : format(v)));
  chart.value.textContent = shown.every((s) => s === "–") ? "no frames" : shown.join(" / ");
}

const ms = (v) => (v >= 1000 ? `${+(v / 1000).toPrecision(3)} s` : `${+v.toPrecision(3)} ms`);
const bits = (v) => (v >= 1e6 ? `${+(v / 1e6).toPrecision(3)} Mbit/s` : `${+(v / 1e3).toPrecision(3)} kbit/s`);
const bytes = (v) => (v >= 1 << 20 ? `${(v / (1 << 20)).toFixed(1)} MiB` : `${(v / 1024).toFixed(0)} KiB`);

function tiles(now) {
  const g = now.gauges;
  const list = [
    [g.sessions, "sessions"],
    [g.subscribers, "subscriptions"],
    [g.tracks, "tracks"],
    [bits(8 * (now.rates.received_bytes ?? 0)), "received"],
    [bits(8 * (now.rates.sent_bytes ?? 0)), "sent"],
    [bytes(g.cache_bytes), "in the cache"],
    [(now.rates.streams_cut ?? 0).toFixed(1), "streams cut per second"],
    [(now.rates.refused ?? 0).toFixed(1), "requests refused per second"],
  ];
  $("tiles").replaceChildren(...list.map(([v, what]) => element("div", { className: "tile" }, element("b", {}, String(v)), element("span", {}, what))));
}

function tracks(list) {
  const quantiles = (d) => (d ? `${ms(d.p50_ms)} / ${ms(d.p99_ms)}` : "–");
  const most = list.toSorted((a, b) => b.subscribers - a.subscribers).slice(0, 50);
  $("tracks").tBodies[0].replaceChildren(
    ...most.map((t) =>
      element(
        "tr",
        {},
        ...[
          `${t.namespace} / ${t.track}`,
          t.subscribers,
          t.largest_group ?? "–",
          bytes(t.cache_bytes),
          quantiles(t.delays?.ingest),
          quantiles(t.delays?.relay),
          quantiles(t.delays?.delivery),
        ].map((v) => element("td", {}, String(v))),
      ),
    ),
  );
}

async function get(path) {
  const r = await fetch(path);
  if (!r.ok) throw new Error(`${path}: ${r.status}`);
  return r.json();
}

function state(text, className) {
  $("state").textContent = text;
  $("state").className = className;
}

async function update() {
  try {
    const after = points.length ? points.at(-1).at : "";
    const [history, status, list] = await Promise.all([
      get(`api/v1/history?after=${encodeURIComponent(after)}`),
      get("api/v1/status"),
      get("api/v1/tracks"),
    ]);
    for (const p of history.points) points.push({ ...p, t: Date.parse(p.at) });
    while (points.length && points.at(-1).t - points[0].t > WINDOW) points.shift();
    $("build").textContent = `${status.version} · up ${status.uptime}`;
    state(status.ready ? "ready" : `not ready: ${status.reason}`, status.ready ? "ok" : "bad");
    tracks(list.tracks);
    if (points.length) tiles(points.at(-1));
  } catch (e) {
    state(`no answer (${e.message})`, "bad");
  }
  const now = points.length ? points.at(-1).t : Date.now();
  for (const c of charts) draw(c, now);
}

for (const [stage, title, note] of STAGES) {
  const of = (name) => (p) => p.delays[stage]?.[name];
  addChart("stages", title, note, [
    { color: "--p50", value: of("p50_ms") },
    { color: "--p95", value: of("p95_ms") },
    { color: "--p99", value: of("p99_ms") },
  ], ms);
}
addChart("rates", "bits per second", "payload and headers of streams", [
  { color: "--p50", value: (p) => 8 * (p.rates.received_bytes ?? 0) },
  { color: "--p95", value: (p) => 8 * (p.rates.sent_bytes ?? 0) },
], bits);
update();
setInterval(update, 1000);
