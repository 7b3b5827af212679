// Memory over time, and what was predicted against what was measured.

function memoryChart(d) {
  const info = data.devices[d];
  const samples = data.memory.filter((m) => m[0] === d);
  if (!samples.length) return null;
  const [W, H, TOP] = [1000, 130, 14];
  const most = samples.reduce((m, s) => Math.max(m, s[2]), 0);
  const planned = data.plans.flatMap((p) => p.memory).filter((m) => m.device === d).reduce((m, p) => Math.max(m, p.peak), 0);
  // A limit far above what was used would flatten the curve: then it is said, not drawn.
  const near = info.limit && info.limit < 4 * Math.max(most, planned, 1);
  const top = Math.max(most, planned, near ? info.limit : 0, 1) * 1.05;
  const whole = Math.max(1, data.ns);
  const y = (b) => TOP + (1 - b / top) * (H - TOP);
  // The most in each of 500 slices: a peak is never left out.
  const slices = new Array(500).fill(-1);
  let last = samples[0][2];
  let at = 0;
  for (let i = 0; i < slices.length; i += 1) {
    slices[i] = last;
    while (at < samples.length && samples[at][1] < ((i + 1) / slices.length) * whole) {
      last = samples[at][2];
      slices[i] = Math.max(slices[i], last);
      at += 1;
    }
  }
  const points = slices.map((b, i) => ((i / slices.length) * W).toFixed(1) + ' ' + y(b).toFixed(1) + 'L' + (((i + 1) / slices.length) * W).toFixed(1) + ' ' + y(b).toFixed(1));
  const colour = 'var(' + colourName(d) + ')';
  const level = (b, text, dash) => [
    draw('line', { x1: 0, x2: W, y1: y(b), y2: y(b), stroke: 'var(--quiet)', 'stroke-dasharray': dash, 'vector-effect': 'non-scaling-stroke' }),
    draw('title', {}, text + ' ' + bytes(b))];
  const chart = draw('svg', { viewBox: '0 0 ' + W + ' ' + H, preserveAspectRatio: 'none', height: H, role: 'img', 'aria-label': info.name + ': at most ' + bytes(most) + ' in use' },
    draw('path', { d: 'M0 ' + H + 'L' + points.join('L') + 'L' + W + ' ' + H + 'Z', fill: colour, 'fill-opacity': 0.25, stroke: 'none' }),
    draw('path', { d: 'M' + points.join('L'), fill: 'none', stroke: colour, 'stroke-width': 1.5, 'vector-effect': 'non-scaling-stroke' }),
    planned ? level(planned, 'planned', '2 4') : [],
    near ? level(info.limit, 'limit', '7 4') : []);
  const words = [dot(d), make('b', {}, info.name), ' at most ' + bytes(most) + ' in use'];
  if (planned) words.push(', ' + bytes(planned) + ' planned (dotted)');
  if (info.limit) words.push(', limit ' + bytes(info.limit) + (near ? ' (dashed)' : ', far above'));
  return make('div', { class: 'chart' }, make('p', {}, words), chart,
    make('p', { class: 'quiet', style: 'display:flex;justify-content:space-between;margin:0' }, make('span', {}, '0'), make('span', {}, time(whole))));
}

function memorySection() {
  const charts = data.devices.map((_, d) => memoryChart(d)).filter(Boolean);
  one('#memory .body').append(...(charts.length ? charts : [make('p', { class: 'quiet' }, 'The record has no samples of memory.')]));
}

/** Every op that was measured: predicted across, measured upwards, both by powers of ten. */
function scatter(points) {
  const [S, L] = [380, 58];
  const values = points.flatMap((p) => [p.predicted, p.measured]);
  const low = Math.floor(Math.log10(Math.max(1, Math.min(...values))));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(10, ...values))));
  const at = (ns) => ((Math.log10(Math.max(1, ns)) - low) / (high - low)) * (S - L - 24);
  const [x, y] = [(ns) => L + at(ns), (ns) => S - L - at(ns)];
  const marks = [];
  const every = high - low > 5 ? 2 : 1;
  for (let p = low; p <= high; p += 1) {
    const v = 10 ** p;
    const named = (p - low) % every === 0;
    marks.push(draw('line', { x1: x(v), x2: x(v), y1: y(10 ** low), y2: y(10 ** high), stroke: 'var(--line)' }), draw('line', { x1: x(10 ** low), x2: x(10 ** high), y1: y(v), y2: y(v), stroke: 'var(--line)' }),
      named ? [draw('text', { x: x(v), y: S - L + 16, 'text-anchor': 'middle' }, tick(v)), draw('text', { x: L - 6, y: y(v) + 4, 'text-anchor': 'end' }, tick(v))] : []);
  }
  const dots = points.slice(0, 3000).map((p) => draw('circle', { cx: x(p.predicted), cy: y(p.measured), r: 4, fill: 'var(' + colourName(p.device) + ')', 'fill-opacity': 0.7, onclick: () => select({ kind: 'node', plan: p.plan, node: p.node }) },
    draw('title', {}, p.name + ' on ' + device(p.device) + ': predicted ' + time(p.predicted) + ', measured ' + time(p.measured))));
  return draw('svg', { class: 'scatter', viewBox: '0 0 ' + S + ' ' + S, role: 'img', 'aria-label': 'Predicted and measured times of ' + points.length + ' ops' }, marks,
    draw('line', { x1: x(10 ** low), y1: y(10 ** low), x2: x(10 ** high), y2: y(10 ** high), stroke: 'var(--quiet)', 'stroke-dasharray': '4 4' }), dots,
    draw('text', { x: (S + L) / 2, y: S - 10, 'text-anchor': 'middle' }, 'predicted'), draw('text', { x: 14, y: (S - L) / 2, 'text-anchor': 'middle', transform: 'rotate(-90 14 ' + (S - L) / 2 + ')' }, 'measured'));
}

function predictionSection() {
  const body = one('#predictions .body');
  const called = data.plans.map((p, n) => [p, n]).filter(([p]) => p.took);
  if (!called.length) { body.append(make('p', { class: 'quiet' }, 'No function was called.')); return; }
  body.append(table([['function', 'name'], ['calls', 'number'], ['predicted', 'number'], ['expected, once measured', 'number wide'], ['took (median)', 'number'], ['at least', 'number wide'], ['no placement beats', 'number wide'], ['placed by', 'wide']],
    called.map(([p, plan]) => [planName(plan), p.calls, time(nanoseconds(p.predicted)), time(nanoseconds(p.expected)), time(p.took[0]), time(p.took[1]), time(nanoseconds(p.lower_bound)), p.algorithm])));
  const points = called.flatMap(([p, plan]) => p.nodes.map((node, n) => ({ node: n, plan, name: fullName(node), device: node.device, predicted: nanoseconds(node.seconds), measured: node.measured ? node.measured[0] : 0 })).filter((q) => q.measured > 0 && q.predicted > 0));
  if (!points.length) { body.append(make('p', { class: 'quiet' }, data.detail === 'pass' ? 'GPUs were asked for the times of passes; Profiler::detailed() has those of each op.' : 'No op was timed by itself.')); return; }
  const off = (p) => Math.abs(Math.log(p.measured / p.predicted)) * Math.max(p.measured, p.predicted);
  const worst = [...points].sort((a, b) => off(b) - off(a)).slice(0, 60);
  body.append(make('p', { class: 'quiet' }, 'A dot is an op that was measured; on the dashed line, the prediction was right. The table has those that are off by most.'), make('div', { class: 'beside' }, scatter(points),
    table([['op', 'name'], ['device', 'wide'], ['predicted', 'number'], ['measured', 'number'], ['ratio', 'number wide']],
      worst.map((p) => ({ cells: [p.name, on(p.device), time(p.predicted), time(p.measured), digits(p.measured / p.predicted)], pick: () => select({ kind: 'node', plan: p.plan, node: p.node }) })), 8)));
}
