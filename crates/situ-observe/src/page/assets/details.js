// The panel that says everything about one thing.

const panel = one('#details');
const CAUSES = { implicit: 'an op needed it there', explicit: 'the program asked for it', upload: 'host data became a tensor', read: 'the program read it' };

function list(pairs) {
  const entries = pairs.filter((pair) => pair && pair[1] !== null && pair[1] !== undefined && pair[1] !== '');
  return make('dl', {}, entries.map(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
}
const known = (line) => (line === 'unknown' ? '' : line);
/** The rule, and what it says where that is more than the rule. */
const because = (rule, text) => (!text || rule === text ? rule : !rule || text.startsWith(rule) ? text : rule + ': ' + text);
const source = (text) => (text ? make('code', {}, text) : null);
const link = (text, what) => make('button', { type: 'button', class: 'link', onclick: () => select(what) }, text);

function nodeDetails(plan, number) {
  const node = data.plans[plan].nodes[number];
  const carries = (c) => c.to === node.device && node.inputs.some((input) => input.node === c.producer);
  const copies = data.plans[plan].copies.filter((c) => c.consumer === number || c.producer === number || carries(c));
  const alternatives = (node.alternatives || []).map((a) => [
    on(a.device),
    make('span', { class: a.seconds < 0 ? 'good' : a.seconds > 0 ? 'bad' : '' }, change(nanoseconds(a.seconds))),
    a.over ? bytes(a.over.bytes) + ' too much on ' + device(a.over.device) : '',
  ]);
  const named = new Set((node.alternatives || []).map((a) => a.device));
  const costs = (node.costs || []).map((c) => [on(c.device), time(nanoseconds(c.seconds)), c.device === node.device ? 'chosen' : named.has(c.device) ? '' : 'not allowed there']);
  const runs = node.kind === 'op' || node.kind === 'cond' || node.kind === 'while';
  const reads = node.inputs.map((input, i) => [i ? ', ' : '', link(fullName(data.plans[plan].nodes[input.node]), { kind: 'node', plan, node: input.node })]);
  return [
    make('h3', {}, fullName(node)),
    list([
      [runs ? 'runs on' : 'is on', on(node.device)],
      runs && ['requested', node.requested || 'nothing: situ decides'],
      ['reason', make('span', { class: 'reason' }, because(node.reason.rule, node.reason.text))],
      node.reason.wanted && ['wanted', node.reason.wanted],
      ['result', node.type + ', ' + bytes(node.output_bytes)],
      node.seconds > 0 && ['predicted', time(nanoseconds(node.seconds))],
      ['measured', node.measured ? time(node.measured[0]) + (node.measured[1] > 1 ? ' (median of ' + node.measured[1] + ')' : '') : node.kind === 'op' ? (data.detail === 'pass' ? 'not by itself: passes were timed' : 'not in the record') : null],
      node.parts && ['one kernel for', node.parts.map((p) => make('div', {}, fullName(p), ' ', source(p.source)))],
      ['line', source(known(node.source))],
      reads.length && ['reads', reads],
    ]),
    alternatives.length ? [make('p', { class: 'quiet' }, 'The whole call, with this op elsewhere and all else as it is:'),
      table([['device', ''], ['change', 'number'], ['', '']], alternatives)] : null,
    costs.length ? [make('p', { class: 'quiet' }, 'The op alone, once its inputs are there:'),
      table([['device', ''], ['time', 'number'], ['', '']], costs)] : null,
    copies.length ? [make('p', { class: 'quiet' }, 'Copies of each call:'),
      table([['from', ''], ['to', ''], ['bytes', 'number'], ['expected', 'number']], copies.map((c) => [on(c.from), on(c.to), bytes(c.bytes), time(nanoseconds(c.seconds))]))] : null,
  ];
}

function eagerDetails(index) {
  const op = data.eager[index];
  return [
    make('h3', {}, fullName(op)),
    list([
      ['runs on', on(op.device)],
      ['requested', op.requested || 'nothing: situ decides'],
      ['reason', make('span', { class: 'reason' }, because(op.reason.rule, op.reason.text))],
      ['result', op.dtype + '[' + op.shape.join(', ') + ']'],
      ['ran', op.count + (op.count === 1 ? ' time, by itself' : ' times, by itself')],
      ['line', source(op.source)],
    ]),
  ];
}

function launchDetails(index) {
  const l = launch(index);
  const clocks = { device: ', by the device\'s clock', pass: ', its part of a pass', host: data.devices[l.device].kind === 'cpu' ? '' : ', to launch it: the device was not asked' };
  const pass = l.pass === null ? null : data.passes[l.pass];
  const when = list([
    ['this run', time(l.length) + ', at ' + time(l.start) + clocks[l.clock]],
    pass && ['its pass', time(pass[2]) + ' for ' + pass[3] + (pass[3] === 1 ? ' kernel' : ' kernels') + ', shared out by what was expected of each'],
    l.clock !== 'host' && l.queued > 0 && ['in the queue', time(l.queued) + ', from launch to start'],
    l.call !== null && ['in', 'call ' + call(l.call).number + ' of ' + planName(call(l.call).plan)],
  ]);
  const rest = l.call === null ? eagerDetails(l.op) : nodeDetails(call(l.call).plan, l.op);
  return [rest[0], when, rest.slice(1)];
}

/** The op whose result a copy carries, where it is known. */
function copyOf(c) {
  if (c.call === null || c.planned === null) return null;
  const plan = call(c.call).plan;
  const node = data.plans[plan].copies[c.planned].producer;
  return node === undefined ? null : link(fullName(data.plans[plan].nodes[node]), { kind: 'node', plan, node });
}

function copyDetails(index) {
  const c = copy(index);
  return [
    make('h3', {}, 'Copy of ' + bytes(c.bytes)),
    list([
      ['from', on(c.from)], ['to', on(c.to)], ['why', CAUSES[c.cause] || c.cause], ['of', copyOf(c)], ['for', c.name],
      ['took', time(c.length) + ', at ' + time(c.start)],
      c.waited > 0 && ['of it waiting', time(c.waited) + ' for the work before it'],
      c.length > c.waited && ['speed', bytes(c.bytes / ((c.length - c.waited) / 1e9)) + ' a second'],
      c.call !== null && ['in', 'call ' + call(c.call).number + ' of ' + planName(call(c.call).plan)],
      ['line', source(c.source)],
    ]),
  ];
}

function gapDetails(index) {
  const gap = data.gaps[index];
  return [make('h3', {}, device(gap.device) + ' stood still'), list([
    ['for', time(gap.ns) + ', at ' + time(gap.start)], ['because', make('span', { class: 'reason' }, gap.text)]])];
}

function callDetails(index) {
  const c = call(index);
  const plan = data.plans[c.plan];
  return [make('h3', {}, plan.function), list([
    ['call', c.number], ['took', time(c.length) + ', at ' + time(c.start)], ['predicted', time(nanoseconds(plan.expected || plan.predicted))],
    ['signature', source(plan.signature)], ['thread', c.thread], ['lanes', plan.lanes], ['placed by', plan.algorithm],
    plan.passes && ['passes', plan.passes.map((p) => make('div', {}, p))]])];
}

whenSelected((what) => {
  panel.replaceChildren();
  panel.hidden = !what;
  if (!what) return;
  const content = what.kind === 'node' ? nodeDetails(what.plan, what.node)
    : what.kind === 'launch' ? launchDetails(what.index)
    : what.kind === 'copy' ? copyDetails(what.index)
    : what.kind === 'gap' ? gapDetails(what.index)
    : what.kind === 'call' ? callDetails(what.index)
    : eagerDetails(what.index);
  panel.append(make('button', { type: 'button', class: 'close', 'aria-label': 'Close the details', onclick: () => select(null) }, '✕'));
  panel.append(...content.flat(Infinity).filter(Boolean));
  panel.scrollTop = 0;
});
document.addEventListener('keydown', (e) => { if (e.key === 'Escape' && selected) select(null); });
