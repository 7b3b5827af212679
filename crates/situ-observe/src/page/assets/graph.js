// The graph: groups within groups, opened and closed in place. Rust gave every box its row and its place in the row; here rows are moved
// apart where a group is open.

function startGraph() {
  if (!data.plans.length) {
    one('#graph').replaceChildren(make('h2', {}, 'Graph'), make('p', { class: 'quiet' }, 'No function was called: ops that run by themselves have no graph. They are below, in the ops by time.'));
    return;
  }
  const view = one('#nodes');
  const picker = one('#plan');
  const [GAP, ROW, PAD, HEAD, HEIGHT, COLUMN] = [18, 30, 14, 26, 44, 64];
  let plan = 0;
  let open = new Set();
  let boxes = new Map(); // 'n3' or 'g1' -> { x, y, w, h, item, element }
  let above = []; // the groups around each node, from the outermost
  let camera = { x: 0, y: 0, scale: 1 };
  let layer = null;
  const nodesOf = () => data.plans[plan].nodes;
  const groupsOf = () => data.plans[plan].groups;
  const key = (item) => (item.node !== undefined ? 'n' + item.node : 'g' + item.group);

  /** The size of a group's inside, and where its boxes are in it. Columns stay beside each other, whatever is open in them. */
  function pack(group) {
    const rows = [];
    for (const [item, row, x, w, column] of groupsOf()[group].items) {
      const inside = item.group !== undefined && open.has(item.group) ? pack(item.group) : null;
      const cells = (rows[row] ||= []);
      (cells[column] ||= []).push({ item, x, inside, column, w: inside ? Math.max(inside.w, w) : w, h: inside ? inside.h : HEIGHT });
    }
    const titles = groupsOf()[group].columns || [];
    let y = group === 0 && titles.length ? 2 * HEAD : HEAD;
    const all = [];
    const columns = [];
    for (const row of rows) {
      if (!row) continue;
      const high = Math.max(...row.flat().map((box) => box.h));
      row.forEach((cell, column) => {
        let end = -Infinity;
        let shift = 0;
        for (const box of cell) {
          box.left = Math.max(box.x - box.w / 2, end);
          end = box.left + box.w + GAP;
          shift += (box.left + box.w / 2 - box.x) / cell.length;
        }
        for (const box of cell) {
          box.left -= shift;
          box.top = y + (high - box.h) / 2;
          (columns[column] ||= []).push(box);
          all.push(box);
        }
      });
      y += high + ROW;
    }
    let at = PAD;
    const heads = [];
    columns.forEach((boxes, column) => {
      const first = Math.min(...boxes.map((box) => box.left));
      const width = Math.max(...boxes.map((box) => box.left + box.w)) - first;
      // Further columns have one box in most rows: their boxes are of one width, and begin where the column does.
      for (const box of boxes) box.left += at - first;
      if (titles[column]) heads.push([titles[column], at + width / 2]);
      at += width + COLUMN;
    });
    return { w: Math.max(60, at - COLUMN) + PAD, h: y - ROW + PAD, boxes: all, heads };
  }

  /** The ops of a group, their time in a call (measured, or else predicted), and the devices' shares of it. */
  function sums(group) {
    const of = data.devices.map(() => 0);
    let ops = 0;
    nodesOf().forEach((node, n) => {
      if (!above[n].includes(group) || (node.kind !== 'op' && node.kind !== 'cond' && node.kind !== 'while')) return;
      ops += 1;
      of[node.device] += Math.max(node.measured ? node.measured[0] : nanoseconds(node.seconds), 1);
    });
    const total = of.reduce((a, b) => a + b, 0);
    if (!ops) nodesOf().forEach((node, n) => { if (above[n].includes(group)) of[node.device] += 1; });
    const whole = of.reduce((a, b) => a + b, 0) || 1;
    return { ops, ns: total, shares: of.map((s) => s / whole) };
  }
  const count = (group) => above.filter((a) => a.includes(group)).length;
  const cut = (text, w) => { const letters = Math.floor((w - 16) / 6.7); return text.length > letters ? text.slice(0, letters - 1) + '…' : text; };

  function place(inside, dx, dy, around) {
    for (const box of inside.boxes) {
      const column = around === undefined ? box.column : around;
      const [x, y] = [dx + box.left, dy + box.top];
      const element = box.item.node !== undefined ? nodeBox(box, x, y) : groupBox(box, x, y);
      element.dataset.key = key(box.item);
      boxes.set(key(box.item), { x, y, w: box.w, h: box.h, item: box.item, element, column, open: !!box.inside });
      layer.append(element);
      if (box.inside) place(box.inside, x, y, column);
    }
  }
  const tint = (d, strong) => ({ fill: 'var(' + colourName(d) + ')', 'fill-opacity': strong });
  function nodeBox(box, x, y) {
    const node = nodesOf()[box.item.node];
    const given = node.kind !== 'op' && node.kind !== 'cond' && node.kind !== 'while';
    const round = given ? 22 : 6;
    return draw('g', { class: 'box node' + (given ? ' given' : ''), transform: 'translate(' + x + ' ' + y + ')', tabindex: -1, role: 'button', 'aria-label': fullName(node) + ' on ' + device(node.device) },
      draw('rect', { class: 'face', width: box.w, height: box.h, rx: round }),
      draw('rect', { class: 'tint', width: box.w, height: box.h, rx: round, ...tint(node.device, given ? 0.1 : 0.22) }),
      draw('text', { x: box.w / 2, y: 19, 'text-anchor': 'middle' }, cut(node.label, box.w)),
      draw('text', { x: box.w / 2, y: 33, 'text-anchor': 'middle', class: 'small' }, cut(node.type, box.w * 1.15)));
  }
  function groupBox(box, x, y) {
    const group = box.item.group;
    const isOpen = !!box.inside;
    const name = groupsOf()[group].name;
    const parts = [draw('rect', { class: 'face', width: box.w, height: box.h, rx: 8 })];
    if (!isOpen) {
      const { ops, ns, shares } = sums(group);
      const most = shares.indexOf(Math.max(...shares));
      parts.push(draw('rect', { class: 'tint', width: box.w, height: box.h, rx: 8, ...tint(most, 0.14) }));
      let at = 0;
      shares.forEach((share, d) => {
        const w = share * (box.w - 16);
        if (w > 0) parts.push(draw('rect', { x: 8 + at, y: box.h - 7, width: w, height: 4, rx: 1, ...tint(d, 1) }));
        at += w;
      });
      const words = ops ? ops + (ops === 1 ? ' op' : ' ops') + (ns > 0 ? ', ' + time(ns) : '') : 'only views';
      parts.push(draw('text', { x: box.w / 2, y: 31, 'text-anchor': 'middle', class: 'small' }, words));
    }
    parts.push(draw('text', { x: isOpen ? 10 : box.w / 2, y: 17, 'text-anchor': isOpen ? 'start' : 'middle' }, (isOpen ? '▾ ' : '▸ ') + cut(name, box.w)));
    return draw('g', { class: 'box group' + (isOpen ? ' open' : ''), transform: 'translate(' + x + ' ' + y + ')', tabindex: -1, role: 'button', 'aria-expanded': isOpen, 'aria-label': 'group ' + name + ', ' + count(group) + ' ops' }, parts);
  }

  /** The box in which a node is to be seen: its own, or that of a closed group around it. */
  function shown(n) {
    for (const group of above[n]) if (!open.has(group)) return 'g' + group;
    return 'n' + n;
  }
  function edges() {
    const copies = data.plans[plan].copies.filter((c) => c.producer !== undefined);
    const copied = new Set(copies.map((c) => c.producer + ' ' + c.to));
    const seen = new Map();
    nodesOf().forEach((node, n) => {
      for (const { node: from, bytes: size } of node.inputs) {
        const [a, b] = [shown(from), shown(n)];
        if (a === b) continue;
        const edge = seen.get(a + b) || { a, b, bytes: 0, copy: null, copied: 0 };
        edge.bytes += size;
        if (nodesOf()[from].device !== node.device || copied.has(from + ' ' + node.device)) edge.copy = nodesOf()[from].device;
        seen.set(a + b, edge);
      }
    });
    // A tensor is copied once, however many read it there: the amount is at the reader that it was copied for.
    for (const { producer: from, consumer: to, bytes: size } of copies) {
      const edge = seen.get(shown(from) + shown(to));
      if (edge) edge.copied += size;
    }
    const labels = [];
    const paths = [...seen.values()].map(({ a, b, bytes: size, copy: from, copied: moved }) => {
      const d = route(boxes.get(a), boxes.get(b));
      const path = draw('path', { d: d.path, class: from === null ? '' : 'copy', 'marker-end': 'url(#tip-' + (from === null ? 'plain' : from) + ')' }, draw('title', {}, bytes(size) + (from === null ? '' : ', copied from ' + device(from))));
      if (from !== null) {
        path.style.stroke = 'var(' + colourName(from) + ')';
        if (moved) labels.push(draw('text', { x: d.x, y: d.y, 'text-anchor': 'middle', class: 'amount' }, bytes(moved)));
      }
      return path;
    });
    return [draw('g', {}, paths), draw('g', {}, labels)];
  }
  /** The way of an edge: down to what is below, up to what is above, sideways to another column or within a row. */
  function route(p, q) {
    const [px, qx] = [p.x + p.w / 2, q.x + q.w / 2];
    let [x1, y1, x2, y2] = [px, p.y + p.h, qx, q.y];
    const aside = p.column !== q.column;
    if (aside || (q.y < p.y + p.h && p.y < q.y + q.h)) {
      // What comes from above enters above the middle, and so on: edges to one box do not lie on each other.
      const slope = Math.sign(q.y + q.h / 2 - p.y - p.h / 2) * (aside ? 9 : 0);
      [x1, x2] = qx > px ? [p.x + p.w, q.x] : [p.x, q.x + q.w];
      [y1, y2] = [p.y + Math.min(p.h, 60) / 2 + slope, q.y + Math.min(q.h, 60) / 2 - slope];
      const dx = Math.max(14, Math.min(60, Math.abs(x2 - x1) / 2)) * Math.sign(x2 - x1 || 1);
      return { path: 'M' + x1 + ' ' + y1 + 'C' + (x1 + dx) + ' ' + y1 + ' ' + (x2 - dx) + ' ' + y2 + ' ' + x2 + ' ' + y2, x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 3 };
    }
    if (q.y + q.h <= p.y) [y1, y2] = [p.y, q.y + q.h];
    const dy = Math.max(14, Math.min(70, Math.abs(y2 - y1) / 2)) * Math.sign(y2 - y1 || 1);
    return { path: 'M' + x1 + ' ' + y1 + 'C' + x1 + ' ' + (y1 + dy) + ' ' + x2 + ' ' + (y2 - dy) + ' ' + x2 + ' ' + y2, x: (x1 + x2) / 2, y: (y1 + y2) / 2 + 3 };
  }
  const tips = () => draw('defs', {}, ['plain', ...data.devices.keys()].map((name) => draw('marker', { id: 'tip-' + name, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: name === 'plain' ? 7 : 9, markerHeight: name === 'plain' ? 7 : 9, markerUnits: 'userSpaceOnUse', orient: 'auto' },
    draw('path', { d: 'M0 0L8 4L0 8Z', style: 'stroke:none;fill:var(' + (name === 'plain' ? '--quiet' : colourName(name)) + ')' }))));

  let size = { w: 1, h: 1 };
  function build() {
    layer = draw('g', {});
    boxes = new Map();
    const inside = pack(0);
    size = inside;
    place(inside, 0, -HEAD);
    // Edges are under the boxes of ops and over the boxes of open groups.
    const first = [...layer.children].filter((e) => !e.classList.contains('open'));
    const [lines, amounts] = edges();
    const heads = inside.heads.map(([title, at]) => draw('text', { x: at, y: 14, 'text-anchor': 'middle', class: 'head' }, title));
    layer.append(lines, ...first, amounts, ...heads);
    view.replaceChildren(tips(), layer);
    mark();
    look();
  }
  const look = () => layer.setAttribute('transform', 'translate(' + camera.x + ' ' + camera.y + ') scale(' + camera.scale + ')');
  function fit() {
    const [w, h] = [view.clientWidth || 800, view.clientHeight || 500];
    // Small enough to see all of it, but never too small to read: then it begins at the top.
    const scale = Math.min(1.15, Math.max(0.75, Math.min(w / (size.w + 20), h / (size.h + 10))));
    camera = { scale, x: Math.max(4, (w - size.w * scale) / 2), y: size.h * scale < h ? (h - size.h * scale) / 2 + 8 : 8 };
    look();
  }
  function zoom(factor, px, py) {
    const scale = Math.min(3, Math.max(0.05, camera.scale * factor));
    camera = { scale, x: px - ((px - camera.x) * scale) / camera.scale, y: py - ((py - camera.y) * scale) / camera.scale };
    look();
  }
  const centre = (factor) => zoom(factor, view.clientWidth / 2, view.clientHeight / 2);
  function reveal(box) {
    const [left, top] = [box.x * camera.scale + camera.x, box.y * camera.scale + camera.y];
    const inside = left > 0 && top > 0 && left + box.w * camera.scale < view.clientWidth && top + 40 * camera.scale < view.clientHeight;
    if (inside) return;
    camera.x = view.clientWidth / 2 - (box.x + box.w / 2) * camera.scale;
    camera.y = view.clientHeight / 2 - (box.y + Math.min(box.h, 40) / 2) * camera.scale;
    look();
  }
  function toggle(group) {
    const before = boxes.get('g' + group);
    if (open.has(group)) open.delete(group); else open.add(group);
    build();
    // What was clicked stays where it is on the screen.
    const now = boxes.get('g' + group);
    camera.x += (before.x + (before.open ? 0 : before.w / 2) - now.x - (before.open ? 0 : now.w / 2)) * camera.scale;
    camera.y += (before.y - now.y) * camera.scale;
    look();
    now.element.focus({ preventScroll: true });
  }

  /** Opens groups from the outside, level by level, as long as there are few enough boxes to read. */
  function openSome() {
    let level = [0];
    let boxes = groupsOf()[0].items.length;
    for (;;) {
      level = level.flatMap((g) => groupsOf()[g].items).filter(([item]) => item.group !== undefined).map(([item]) => item.group);
      boxes += level.reduce((sum, g) => sum + groupsOf()[g].items.length, 0);
      if (!level.length || boxes > 30) return;
      level.forEach((g) => open.add(g));
    }
  }
  function setPlan(number, keep) {
    plan = number;
    picker.value = String(number);
    open = new Set();
    above = [];
    const walk = (group, around) => {
      for (const [item] of groupsOf()[group].items) {
        if (item.node !== undefined) above[item.node] = around;
        else walk(item.group, [...around, item.group]);
      }
    };
    walk(0, []);
    openSome();
    const names = [...new Set(nodesOf().map(fullName))].slice(0, 2000);
    one('#names').replaceChildren(...names.map((name) => make('option', { value: name })));
    build();
    if (!keep) fit();
  }
  function mark() {
    for (const old of view.querySelectorAll('.chosen')) old.classList.remove('chosen');
    const node = selectedNode();
    const box = node && node.plan === plan ? boxes.get(shown(node.node)) : null;
    for (const { element } of boxes.values()) element.setAttribute('tabindex', -1);
    if (box) box.element.classList.add('chosen');
    const stop = box || boxes.values().next().value;
    if (stop) stop.element.setAttribute('tabindex', 0);
    return box;
  }
  whenSelected((what) => {
    if (what && what.kind === 'node') {
      if (what.plan !== plan) setPlan(what.plan, true);
      const closed = above[what.node].filter((group) => !open.has(group));
      if (closed.length) { closed.forEach((group) => open.add(group)); build(); }
    }
    const box = mark();
    if (box && what.kind === 'node') reveal(box);
  });

  const activate = (box) => { if (box.item.group !== undefined) toggle(box.item.group); else select({ kind: 'node', plan, node: box.item.node }); };
  const boxOf = (target) => { const element = target.closest && target.closest('.box'); return element ? boxes.get(element.dataset.key) : null; };
  view.addEventListener('keydown', (e) => {
    const box = boxOf(e.target);
    if (!box) return;
    if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); activate(box); return; }
    const to = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[e.key];
    if (!to) return;
    e.preventDefault();
    // The nearest box in that direction; sideways counts double.
    let best = null;
    let least = Infinity;
    for (const other of boxes.values()) {
      const [dx, dy] = [other.x + other.w / 2 - box.x - box.w / 2, other.y - box.y];
      const ahead = dx * to[0] + dy * to[1];
      const aside = Math.abs(dx * to[1]) + Math.abs(dy * to[0]);
      if (other !== box && ahead > 2 && ahead + 2 * aside < least) { best = other; least = ahead + 2 * aside; }
    }
    if (!best) return;
    box.element.setAttribute('tabindex', -1);
    best.element.setAttribute('tabindex', 0);
    best.element.focus({ preventScroll: true });
    reveal(best);
  });

  const pointers = new Map();
  let moved = 0;
  let pressed = null;
  view.addEventListener('pointerdown', (e) => {
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
    pressed = boxOf(e.target);
    moved = 0;
    view.setPointerCapture(e.pointerId);
  });
  view.addEventListener('pointermove', (e) => {
    if (!pointers.has(e.pointerId)) return;
    const before = [...pointers.values()];
    const [px, py] = pointers.get(e.pointerId);
    pointers.set(e.pointerId, [e.clientX, e.clientY]);
    moved += Math.abs(e.clientX - px) + Math.abs(e.clientY - py);
    const now = [...pointers.values()];
    if (now.length === 2) {
      const far = (p) => Math.max(10, Math.hypot(p[0][0] - p[1][0], p[0][1] - p[1][1]));
      const corner = view.getBoundingClientRect();
      zoom(far(now) / far(before), (now[0][0] + now[1][0]) / 2 - corner.left, (now[0][1] + now[1][1]) / 2 - corner.top);
    } else if (moved > 4) {
      camera.x += e.clientX - px;
      camera.y += e.clientY - py;
      look();
    }
  });
  view.addEventListener('pointerup', (e) => { if (pointers.delete(e.pointerId) && moved <= 4 && pressed) activate(pressed); });
  view.addEventListener('pointercancel', (e) => pointers.delete(e.pointerId));
  view.addEventListener('wheel', (e) => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    const corner = view.getBoundingClientRect();
    zoom(Math.exp(-Math.min(Math.max(e.deltaY, -60), 60) * 0.01), e.clientX - corner.left, e.clientY - corner.top);
  }, { passive: false });

  const actions = {
    open: () => { groupsOf().forEach((_, g) => open.add(g)); build(); fit(); },
    close: () => { open.clear(); build(); fit(); },
    in: () => centre(1.4), out: () => centre(1 / 1.4), fit,
  };
  one('#graph .tools').addEventListener('click', (e) => { const action = actions[e.target.dataset.do]; if (action) action(); });
  picker.addEventListener('change', () => setPlan(Number(picker.value)));
  one('#find').addEventListener('change', (e) => {
    const text = e.target.value.trim().toLowerCase();
    if (!text) return;
    const exact = nodesOf().findIndex((node) => fullName(node).toLowerCase() === text);
    const node = exact >= 0 ? exact : nodesOf().findIndex((n) => fullName(n).toLowerCase().includes(text));
    if (node >= 0) select({ kind: 'node', plan, node });
  });

  // Plans of one function differ in where they run, if in nothing else.
  const where = (p) => [...new Set(p.nodes.filter((node) => node.kind === 'op').map((node) => node.device))].sort().map(device).join(' and ');
  data.plans.forEach((p, n) => picker.append(make('option', { value: n }, planName(n) + ' on ' + (where(p) || 'no device') + (p.signature ? ' (' + p.signature + ')' : '') + ', ' + count(p.nodes.length, 'node') + ', ' + count(p.calls, 'call'))));
  picker.hidden = data.plans.length === 1;
  const busiest = data.plans.reduce((best, p, n) => (p.nodes.length * Math.min(p.calls, 3) > data.plans[best].nodes.length * Math.min(data.plans[best].calls, 3) ? n : best), 0);
  setPlan(busiest);
  new ResizeObserver(() => { if (camera.scale) fit(); }).observe(view);
}
