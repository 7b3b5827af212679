// What is said in words and tables: the summary, what to do, copies, ops, and what changed on the way.

function summarySection() {
  const figure = (value, words, extra) => make('div', { class: 'figure' }, make('b', {}, value), make('span', { class: 'quiet' }, words), extra);
  const moved = data.copies.reduce((sum, c) => sum + c[2], 0);
  const box = one('#summary');
  box.append(figure(time(data.ns), data.calls.length + ' calls, ' + data.launches.length + ' kernels'));
  data.devices.forEach((info, d) => {
    const share = info.busy / Math.max(1, data.ns);
    box.append(figure(percent(share), [dot(d), info.name + ' busy'], make('div', { class: 'bar', title: info.description }, make('i', { style: 'width:' + Math.min(100, share * 100) + '%;background:var(' + colourName(d) + ')' }))));
  });
  box.append(figure(bytes(moved), data.copies.length + ' copies'));
  const fell = data.fallbacks.reduce((sum, f) => sum + f.count, 0);
  box.append(figure(String(fell), fell === 1 ? 'op ran elsewhere than asked' : 'ops ran elsewhere than asked'));
}

function findingSection() {
  const body = one('#do .body');
  if (!data.findings.length) body.append(make('p', { class: 'quiet' }, 'Nothing was found that would make this faster.'));
  for (const finding of data.findings) {
    const plan = finding.plan;
    const targets = (finding.nodes || []).map((node) => ['node', fullName(data.plans[plan].nodes[node]), { kind: 'node', plan, node }])
      .concat((finding.eager || []).map((index) => ['eager', fullName(data.eager[index]), { kind: 'eager', index }]));
    const gain = finding.gain_seconds * 1e9;
    body.append(make('div', { class: 'finding' },
      make('div', {}, make('b', {}, finding.kind.replace('_', ' ')), gain > 0 ? [' ', make('span', { class: 'gain' }, 'saves ' + time(gain) + ' a call' + (finding.calls > 1 ? ', ' + time(gain * finding.calls) + ' here' : ''))] : null),
      make('div', {}, finding.text),
      targets.length ? make('div', { class: 'quiet' }, 'Show: ', targets.slice(0, 4).map(([, name, what]) => [link(name, what), ' ']), targets.length > 4 ? 'and ' + (targets.length - 4) + ' more' : '') : null));
  }
}

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
  body.append(table([['bytes', 'number'], ['times', 'number'], ['time', 'number'], ['from', ''], ['to', ''], ['why', 'wide'], ['for', 'name'], ['line', 'line']],
    data.ledger.map((l) => ({ cells: [bytes(l.bytes), l.count, time(l.ns), on(l.from), on(l.to), CAUSES[l.cause], l.name, l.source], pick: () => select({ kind: 'copy', index: l.first }) }))),
  make('p', { class: 'quiet' }, 'A copy from a GPU waits for the work before it: its time has both in it.'));
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
  one('#ops .body').append(table([['op', 'name'], ['device', ''], ['times', 'number'], ['together', 'number'], ['share', 'number'], ['each', 'number'], ['line', 'line wide']], rows.map((r) => {
    const op = r.plan < 0 ? data.eager[r.op] : data.plans[r.plan].nodes[r.op];
    const what = r.plan < 0 ? { kind: 'eager', index: r.op } : { kind: 'node', plan: r.plan, node: r.op };
    return { cells: [fullName(op), on(r.device), r.count, time(r.ns), percent(r.ns / total), time(r.ns / r.count), op.source], pick: () => select(what) };
  })));
}

function eventSection() {
  const body = one('#events .body');
  const part = (title, content) => body.append(make('h3', {}, title), content);
  if (data.fallbacks.length) part('Ran elsewhere than asked', table([['op', 'name'], ['asked for', ''], ['ran on', ''], ['times', 'number'], ['why', 'name'], ['line', 'line wide']], data.fallbacks.map((f) => [fullName(f), f.wanted, on(f.device), f.count, f.reason, f.source])));
  if (data.retraces.length) part('Traced again', table([['at', 'number'], ['function', 'name'], ['took', 'number'], ['why', 'name']], data.retraces.map((r) => [time(r.time * 1e9), r.function, time(r.seconds * 1e9), r.cause])));
  if (data.replacements.length) part('Placed anew', table([['at', 'number'], ['function', 'name'], ['before', 'number'], ['after', 'number'], ['why', 'name']], data.replacements.map((r) => [time(r.time * 1e9), r.function, time(r.before * 1e9), time(r.after * 1e9), r.cause])));
  if (!body.children.length) one('#events').remove();
}
