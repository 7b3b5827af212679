'use strict';
// What every part of the page uses: the data, how numbers are written, and making elements.

const data = JSON.parse(document.getElementById('record').textContent);
const one = (selector, within) => (within || document).querySelector(selector);
const SVG = 'http://www.w3.org/2000/svg';

/** An element. Text is always set as text: nothing in a record is ever read as HTML. */
function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function draw(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') element.style.cssText = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== '') element.append(child);
  }
  return element;
}

const digits = (x) => (Math.abs(x) >= 100 ? x.toFixed(0) : Math.abs(x) >= 10 ? x.toFixed(1) : x.toFixed(2));
/** Nanoseconds as people read them. */
function time(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return Math.round(ns) + ' ns';
  if (size < 1e6) return digits(ns / 1e3) + ' µs';
  if (size < 1e9) return digits(ns / 1e6) + ' ms';
  return digits(ns / 1e9) + ' s';
}
const change = (ns) => (ns < 0 ? '−' : '+') + time(Math.abs(ns));
function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (n >= 1024 && unit < 4) { n /= 1024; unit += 1; }
  return (unit === 0 ? n : digits(n)) + ' ' + units[unit];
}
const percent = (share) => (share * 100).toFixed(share < 0.1 ? 1 : 0) + '%';

const device = (d) => data.devices[d].name;
const colourName = (d) => '--device-' + (d % 8);
const dot = (d) => make('span', { class: 'dot', style: 'background:var(' + colourName(d) + ')' });
const on = (d) => make('span', { class: 'on' }, dot(d), device(d));
/** The function of a plan, and which of its plans that is. */
const planName = (n) => data.plans[n].function + (data.plans.filter((p) => p.function === data.plans[n].function).length > 1 ? ', plan ' + (n + 1) : '');
/** What it does: of a node, perhaps several ops as one. */
const labelOf = (op) => op.label || op.op;
const fullName = (op) => (op.name ? op.name + '/' + labelOf(op) : labelOf(op));
// Plans are as the record has them, in seconds; all else is in nanoseconds.
const nanoseconds = (seconds) => (seconds || 0) * 1e9;

// Rows of numbers, by name.
const launch = (i) => {
  const [call, op, where, row, start, length, queued, clock, pass] = data.launches[i];
  return { call, op, device: where, row, start, length, queued, clock: ['host', 'pass', 'device'][clock], pass };
};
const copy = (i) => {
  const [from, to, size, cause, name, source, call, row, start, length, waited, planned] = data.copies[i];
  return { from, to, bytes: size, cause, name: data.texts[name], source: data.texts[source], call, row, start, length, waited, planned };
};
const call = (i) => {
  const [plan, number, thread, start, length] = data.calls[i];
  return { plan, number, thread, start, length };
};
const opOf = (l) => (l.call === null ? data.eager[l.op] : data.plans[call(l.call).plan].nodes[l.op]);

// What is selected: { kind: 'node', plan, node }, or { kind: 'launch' | 'copy' | 'gap' | 'eager' | 'call', index }.
let selected = null;
const watchers = [];
const whenSelected = (watcher) => watchers.push(watcher);
function select(what) {
  selected = what;
  for (const watcher of watchers) watcher(what);
}
/** The node that the selection is about, if it is about one. */
function selectedNode() {
  if (!selected) return null;
  if (selected.kind === 'node') return selected;
  if (selected.kind === 'launch') {
    const l = launch(selected.index);
    return l.call === null ? null : { plan: call(l.call).plan, node: l.op };
  }
  return null;
}

const themeWatchers = [];
let palette = {};
/** Colours as the canvas needs them, read once for each theme. */
function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const names = ['ink', 'quiet', 'line', 'card', 'back', 'accent', 'gap', 'gap-ink', 'mark', 'on-device'];
  palette = { device: data.devices.map((_, d) => style.getPropertyValue(colourName(d)).trim()) };
  for (const name of names) palette[name] = style.getPropertyValue('--' + name).trim();
}
function setTheme(name) {
  document.documentElement.dataset.theme = name;
  one('#theme').textContent = name === 'dark' ? 'Light' : 'Dark';
  one('#theme').setAttribute('aria-label', 'Change to the ' + (name === 'dark' ? 'light' : 'dark') + ' colours');
  readPalette();
  for (const watcher of themeWatchers) watcher();
}

/** Long names and paths may break behind slashes and underscores, and nowhere else if that will do. */
const breakable = (text) => (typeof text === 'string' && /[/_]/.test(text) ? text.split(/(?<=[/_])/).flatMap((part, n) => (n ? [make('wbr'), part] : [part])) : text);

/** A table. Columns are [heading, class]; rows are lists of cells, or { cells, pick }. */
function table(columns, rows, most) {
  const body = make('tbody');
  const row = (r) => {
    const cells = r.cells || r;
    const line = make('tr', {}, columns.map(([, kind], n) => make('td', { class: kind }, breakable(cells[n]))));
    if (r.pick) {
      line.className = 'pick';
      line.tabIndex = 0;
      line.addEventListener('click', r.pick);
      line.addEventListener('keydown', (e) => { if (e.key === 'Enter') r.pick(); });
    }
    return line;
  };
  const limit = most || 15;
  for (const r of rows.slice(0, limit)) body.append(row(r));
  const heads = columns.map(([heading, kind]) => make('th', { class: kind, scope: 'col' }, heading));
  const whole = make('div', { class: 'scroll' }, make('table', {}, make('thead', {}, make('tr', {}, heads)), body));
  if (rows.length <= limit) return whole;
  const more = make('button', { type: 'button', class: 'more', onclick: () => {
    for (const r of rows.slice(limit)) body.append(row(r));
    more.remove();
  } }, 'Show all ' + rows.length);
  return make('div', {}, whole, more);
}
