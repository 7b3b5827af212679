// What is said in words and tables: the summary, what to do, copies, ops, and what changed on the way.

const count = (n, word, one = '', many = 's') => n + ' ' + word + (n === 1 ? one : many);

function summarySection() {
  const figure = (value, words, extra) => make('div', { class: 'figure' }, make('b', {}, value), make('span', { class: 'quiet' }, words), extra);
  const moved = data.copies.reduce((sum, c) => sum + c[2], 0);
  const box = one('#summary');
  box.append(figure(time(data.ns), count(data.calls.length, 'call') + ', ' + count(data.launches.length, 'kernel')));
  data.devices.forEach((info, d) => {
    const share = info.busy / Math.max(1, data.ns);
    box.append(figure(percent(share), [dot(d), info.name + ' busy'], make('div', { class: 'bar', title: info.description }, make('i', { style: 'width:' + Math.min(100, share * 100) + '%;background:var(' + colourName(d) + ')' }))));
  });
  box.append(figure(bytes(moved), 'moved, in ' + count(data.copies.length, 'cop', 'y', 'ies')));
  const fell = data.fallbacks.reduce((sum, f) => sum + f.count, 0);
  box.append(figure(String(fell), fell === 1 ? 'op ran elsewhere than asked' : 'ops ran elsewhere than asked'));
}

const FINDINGS = {
  fallback: 'Ran elsewhere than asked', scope: 'A scope costs time', repeated_copy: 'The same bytes are copied again and again', idle: 'A device mostly waits',
  retraces: 'Compiled again and again', drift: 'Times are not as predicted', memory: 'Memory is short', eager: 'Ops run one by one',
};

function findingSection() {
  const body = one('#do .body');
  if (!data.findings.length) body.append(make('p', { class: 'quiet' }, 'Nothing was found that would make this faster.'));
  for (const finding of data.findings) {
    const plan = finding.plan;
    const targets = (finding.nodes || []).map((node) => [fullName(data.plans[plan].nodes[node]), { kind: 'node', plan, node }])
      .concat((finding.eager || []).map((index) => [fullName(data.eager[index]), { kind: 'eager', index }]));
    const gain = finding.gain_seconds * 1e9;
    const elsewhere = finding.elsewhere || [];
    const once = finding.calls === 1 && !elsewhere.length;
    const here = elsewhere.reduce((sum, other) => sum + other.gain_seconds * 1e9 * other.calls, gain * finding.calls);
    const saves = gain > 0 ? 'saves ' + time(gain) + (once ? '' : ' a call, ' + time(here) + ' here') : null;
    body.append(make('article', { class: 'finding' + (saves ? ' pays' : '') },
      make('h3', {}, FINDINGS[finding.kind] || finding.kind, saves ? make('span', { class: 'gain' }, saves) : null),
      make('p', {}, code(finding.text)),
      targets.length ? make('p', { class: 'quiet' }, 'Look at ', targets.slice(0, 4).map(([name, what], n) => [n ? ', ' : '', link(name, what)]), targets.length > 4 ? ' and ' + (targets.length - 4) + ' more' : '') : null));
  }
}

/** Text with what is between backquotes as code. */
const code = (text) => text.split('`').map((part, n) => (n % 2 ? make('code', {}, part) : part));

function idleSection() {
  const sorts = { wait: 'for another device', copy: 'for a copy', program: 'for the program, between calls', elsewhere: 'while work was elsewhere', launch: 'for launches' };
  const sums = new Map();
  data.gaps.forEach((gap) => {
    const key = gap.device + gap.sort;
    const sum = sums.get(key) || { device: gap.device, sort: gap.sort, count: 0, ns: 0, longest: gap };
    sum.count += 1;
    sum.ns += gap.ns;
    if (gap.ns > sum.longest.ns) sum.longest = gap;
    sums.set(key, sum);
  });
  const rows = [...sums.values()].sort((a, b) => b.ns - a.ns);
  one('#idle').append(rows.length ? table([['device', ''], ['waited', ''], ['times', 'number'], ['together', 'number'], ['the longest', 'name']],
    rows.map((r) => ({ cells: [on(r.device), sorts[r.sort], r.count, time(r.ns), r.longest.text], pick: () => select({ kind: 'gap', index: data.gaps.indexOf(r.longest) }) })))
    : make('p', { class: 'quiet' }, 'No gap was long enough to be seen.'));
}

function copySection() {
  const body = one('#copies .body');
  if (!data.ledger.length) { body.append(make('p', { class: 'quiet' }, 'Nothing was copied between memories.')); return; }
  body.append(table([['bytes', 'number'], ['times', 'number wide'], ['time', 'number'], ['of it waiting', 'number wide'], ['way', 'way'], ['what', 'name'], ['why', 'wide'], ['line', 'line wide']],
    data.ledger.map((l) => ({ cells: [bytes(l.bytes), l.count, time(l.ns), l.waited ? time(l.waited) : '', [on(l.from), ' ', make('span', { class: 'on' }, '→ ', on(l.to))], l.of ? [breakable(l.of), ' → ', breakable(l.name)] : l.name, CAUSES[l.cause], l.source], pick: () => select({ kind: 'copy', index: l.first }) }))),
  make('p', { class: 'quiet' }, 'A GPU gives bytes away when the work that makes them is done: until then a copy from it waits.'));
}

function opSection() {
  const sums = new Map();
  for (const [inCall, op, where, , , length] of data.launches) {
    const plan = inCall === null ? -1 : data.calls[inCall][0];
    const key = plan + ' ' + op + ' ' + where;
    const sum = sums.get(key) || { plan, op, device: where, count: 0, ns: 0 };
    sum.count += 1;
    sum.ns += length;
    sums.set(key, sum);
  }
  const rows = [...sums.values()].sort((a, b) => b.ns - a.ns);
  if (!rows.length) { one('#ops .body').append(make('p', { class: 'quiet' }, 'No kernel ran.')); return; }
  const total = rows.reduce((sum, r) => sum + r.ns, 0) || 1;
  if (data.passes.length) one('#ops .body').append(make('p', { class: 'quiet' }, 'GPUs were asked for the times of passes: ops have the part of theirs that was expected of them. Profiler::detailed() times each.'));
  one('#ops .body').append(table([['op', 'name'], ['device', ''], ['times', 'number wide'], ['together', 'number'], ['share', 'number wide'], ['each', 'number'], ['line', 'line wide']], rows.map((r) => {
    const op = r.plan < 0 ? data.eager[r.op] : data.plans[r.plan].nodes[r.op];
    const what = r.plan < 0 ? { kind: 'eager', index: r.op } : { kind: 'node', plan: r.plan, node: r.op };
    return { cells: [fullName(op), on(r.device), r.count, time(r.ns), percent(r.ns / total), time(r.ns / r.count), op.source], pick: () => select(what) };
  })));
}

function eventSection() {
  const body = one('#events .body');
  const part = (title, content) => body.append(make('h3', {}, title), content);
  if (data.fallbacks.length) part('Ran elsewhere than asked', table([['op', 'name'], ['asked for', ''], ['ran on', ''], ['times', 'number'], ['why', 'name'], ['line', 'line wide']], data.fallbacks.map((f) => [fullName(f), f.wanted, on(f.device), f.count, f.reason, f.source])));
  if (data.retraces.length) part('Compiled again', table([['at', 'number'], ['function', 'name'], ['took', 'number'], ['why', 'name']], data.retraces.map((r) => [time(r.time * 1e9), r.function, time(r.seconds * 1e9), r.cause])));
  if (data.replacements.length) part('Placed anew', table([['at', 'number'], ['function', 'name'], ['before', 'number'], ['after', 'number'], ['why', 'name']], data.replacements.map((r) => [time(r.time * 1e9), r.function, time(r.before * 1e9), time(r.after * 1e9), r.cause])));
  if (!body.children.length) one('#events').remove();
}
