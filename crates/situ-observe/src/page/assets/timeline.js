// The timeline: one canvas, drawn anew whenever the view changes. Only what is in view is looked at, and what is narrower than a pixel is
// drawn once for each pixel, so the number of events hardly matters.

const FONT = 'system-ui, "DejaVu Sans", sans-serif';
/** A time on the axis: without zeros that say nothing. */
const tick = (ns) => (ns === 0 ? '0' : time(ns).replace(/\.0+ /, ' ').replace(/(\.\d*?)0+ /, '$1 '));

function startTimeline() {
  const canvas = one('#tracks');
  const context = canvas.getContext('2d');
  const { rows, bands, height } = makeRows();
  const whole = Math.max(1, data.ns, ...data.launches.slice(-50).map((l) => l[4] + l[5]));
  let from = 0;
  let to = whole;
  let width = 0;
  let gutter = 0; // at the left, for the names of rows
  let waiting = false;
  let marked = null; // { row, at } of the selection, for the keys
  let hatch = null;

  const plot = () => Math.max(1, width - gutter);
  const x = (t) => gutter + ((t - from) / (to - from)) * plot();
  const t = (px) => from + ((px - gutter) / plot()) * (to - from);
  const show = (a, b) => {
    const span = Math.min(Math.max(b - a, 50), whole * 1.02);
    from = Math.min(Math.max(a, -0.01 * whole), 1.01 * whole - span);
    to = from + span;
    redraw();
  };
  const zoom = (factor, around) => show(around - (around - from) * factor, around + (to - around) * factor);
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; paint(); });
  };

  function resize() {
    const scale = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    gutter = width > 640 ? 92 : 68;
    canvas.style.height = height + 'px';
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    paint();
  }

  function makeHatch() {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const c = tile.getContext('2d');
    c.fillStyle = palette.gap;
    c.fillRect(0, 0, 8, 8);
    c.strokeStyle = palette.line;
    c.lineWidth = 1.5;
    c.beginPath();
    for (const k of [-8, 0, 8]) { c.moveTo(k, 8); c.lineTo(k + 8, 0); }
    c.stroke();
    hatch = context.createPattern(tile, 'repeat');
  }

  function axis() {
    const target = (to - from) / Math.max(2, plot() / 110);
    const power = 10 ** Math.floor(Math.log10(target));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= target);
    context.fillStyle = palette.quiet;
    context.strokeStyle = palette.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const px = Math.round(x(at)) + 0.5;
      context.moveTo(px, 16);
      context.lineTo(px, height);
      if (width - px > 40) context.fillText(tick(at), px + 3, 12);
    }
    context.stroke();
  }

  /** Calls `visit` with each event in view, and at most about one for each pixel. */
  function inView(row, visit) {
    const pixel = (to - from) / plot();
    let i = row.after(from);
    while (i < row.start.length && row.start[i] < to) {
      const left = x(row.start[i]);
      const right = x(row.end[i]);
      visit(i, left, Math.max(right - left, 1));
      if (right - left >= 1) i += 1;
      else i = Math.max(i + 1, row.after(Math.max(row.end[i], t(Math.floor(left) + 1) - pixel * 0.01)));
    }
  }

  const fits = (text, left, w) => text.length <= Math.floor((Math.min(left + w, width) - Math.max(left, gutter) - 8) / 6.4);
  function label(text, left, w, row, colour) {
    const visible = Math.min(left + w, width) - Math.max(left, gutter);
    const letters = Math.floor((visible - 8) / 6.4);
    if (letters < 3) return;
    context.fillStyle = colour;
    context.fillText(text.length > letters ? text.slice(0, letters - 1) + '…' : text, Math.max(left, gutter) + 4, row.top + row.height / 2 + 4);
  }

  function paintRow(row) {
    if (row.gaps) {
      context.fillStyle = hatch;
      inView(row.gaps, (i, left, w) => context.fillRect(left, row.top, w, row.height));
      inView(row.gaps, (i, left, w) => { if (w > 70) label(data.gaps[row.gaps.index[i]].text, left, w, row, palette['gap-ink']); });
    }
    if (row.kind === 'call') {
      inView(row, (i, left, w) => {
        const c = call(row.index[i]);
        context.fillStyle = palette.gap;
        context.fillRect(left, row.top, Math.max(w - 1, 1), row.height);
        if (w > 30) label(data.plans[c.plan].function + ' ' + c.number, left, w, row, palette.ink);
      });
      return;
    }
    if (row.kind === 'copy') { paintCopies(row); return; }
    context.fillStyle = palette.device[row.device];
    inView(row, (i, left, w) => context.fillRect(left, row.top, w > 3 ? w - 0.8 : w, row.height));
    // Gradients are darker, updates of weights paler.
    inView(row, (i, left, w) => {
      const way = directions(launch(row.index[i]));
      if (!way || w < 1.5) return;
      context.fillStyle = way === 'gradient' ? 'rgb(0 0 0 / .2)' : 'rgb(255 255 255 / .35)';
      context.fillRect(left, row.top, w > 3 ? w - 0.8 : w, row.height);
    });
    // What was timed is the pass: a frame around the kernels that share its time.
    context.strokeStyle = palette.ink;
    context.lineWidth = 1.5;
    if (row.passes) inView(row.passes, (i, left, w) => { if (w > 4) context.strokeRect(left, row.top + 0.5, w - 1, row.height - 1); });
    if (row.height < 16) return;
    inView(row, (i, left, w) => {
      if (w <= 30) return;
      const op = opOf(launch(row.index[i]));
      label(fits(fullName(op), left, w) ? fullName(op) : labelOf(op), left, w, row, palette['on-device']);
    });
  }

  const directions = (l) => { const name = opOf(l).name || ''; return name.startsWith('gradient') ? 'gradient' : name.startsWith('update') ? 'update' : ''; };

  /** A copy has the colour of where it comes from; the part in which it only waited for the work before it is pale. */
  function paintCopies(row) {
    inView(row, (i, left, w) => {
      const c = copy(row.index[i]);
      const moving = Math.max(1, (w * (c.length - c.waited)) / Math.max(1, c.length));
      context.fillStyle = palette.device[c.from];
      if (w - moving > 0.5) {
        context.globalAlpha = 0.22;
        context.fillRect(left, row.top, w - moving, row.height);
        context.globalAlpha = 1;
      }
      context.fillRect(left + w - moving, row.top, moving > 3 ? moving - 0.8 : moving, row.height);
      if (w > 44) label(bytes(c.bytes), left, w, row, w - moving > 24 ? palette.ink : palette['on-device']);
    });
  }

  /** Arrows from the kernels of where bytes come from to where they arrive. */
  function arrows() {
    const kernels = new Map(bands.map((b) => [b.device, b.kernels]));
    context.lineWidth = 1.2;
    for (const row of rows) {
      if (row.kind !== 'copy') continue;
      let last = -10;
      inView(row, (i, left, w) => {
        const c = copy(row.index[i]);
        const source = kernels.get(c.from);
        const x2 = left + w;
        if (!source || c.from === c.to || x2 - last < 7) return;
        last = x2;
        const x1 = Math.max(x(c.start + c.waited), x2 - 400);
        const down = row.top > source[0];
        const [y1, y2] = down ? [source[1], row.top] : [source[0], row.top + row.height];
        const bend = Math.max(8, Math.abs(y2 - y1) / 2) * (down ? 1 : -1);
        context.strokeStyle = context.fillStyle = palette.device[c.from];
        context.beginPath();
        context.moveTo(x1, y1);
        context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
        context.stroke();
        const tip = down ? -6 : 6;
        context.beginPath();
        context.moveTo(x2, y2);
        context.lineTo(x2 - 3.5, y2 + tip);
        context.lineTo(x2 + 3.5, y2 + tip);
        context.fill();
      });
    }
  }

  /** What each row is, at the left. */
  function names() {
    context.fillStyle = palette.card;
    context.fillRect(0, 0, gutter, height);
    context.strokeStyle = palette.line;
    context.lineWidth = 1;
    context.strokeRect(gutter - 0.5, -1, width, height + 2);
    context.fillStyle = palette.quiet;
    for (const row of rows) if (row.kind === 'call') context.fillText('calls', 8, row.top + 12);
    for (const band of bands) {
      const info = data.devices[band.device];
      context.fillStyle = palette.device[band.device];
      context.fillRect(8, band.top + 4, 9, 9);
      context.fillStyle = palette.ink;
      context.font = '600 12px ' + FONT;
      context.fillText(info.name, 22, band.top + 13);
      context.font = '11px ' + FONT;
      context.fillStyle = palette.quiet;
      context.fillText((gutter > 80 ? 'busy ' : '') + percent(info.busy / Math.max(1, data.ns)), gutter > 80 ? 22 : 8, band.top + 27);
      if (band.copies && gutter > 80) context.fillText('copies in', 22, band.copies + 11);
    }
  }

  function paint() {
    context.clearRect(0, 0, width, height);
    context.font = '11px ' + FONT;
    axis();
    for (const band of bands) {
      context.fillStyle = palette.device[band.device];
      context.globalAlpha = 0.05;
      context.fillRect(0, band.top - 3, width, band.bottom - band.top + 4);
      context.globalAlpha = 1;
    }
    context.save();
    context.beginPath();
    context.rect(gutter, 0, width, height);
    context.clip();
    rows.forEach(paintRow);
    arrows();
    mark();
    context.restore();
    names();
  }

  function mark() {
    const node = selectedNode();
    for (const row of rows) {
      if (row.kind === 'launch' && node && selected.kind === 'node') {
        context.strokeStyle = palette.ink;
        context.lineWidth = 1.5;
        inView(row, (i, left, w) => {
          const l = data.launches[row.index[i]];
          if (l[0] !== null && l[1] === node.node && data.calls[l[0]][0] === node.plan) context.strokeRect(left, row.top, Math.max(w, 3), row.height);
        });
      }
    }
    if (!marked || !selected) return;
    const { row, at } = marked;
    context.strokeStyle = palette.ink;
    context.lineWidth = 2;
    context.strokeRect(x(row.start[at]), row.top - 1, Math.max(x(row.end[at]) - x(row.start[at]), 3), row.height + 2);
  }

  function hit(e) {
    const box = canvas.getBoundingClientRect();
    const [px, py] = [e.clientX - box.left, e.clientY - box.top];
    const row = rows.find((r) => py >= r.top - 1 && py <= r.top + r.height + 1);
    if (!row) return null;
    if (px < gutter) return null;
    const slack = (3 * (to - from)) / plot();
    const at = row.at(t(px), slack);
    if (at >= 0) return { row, at };
    const gap = row.gaps ? row.gaps.at(t(px), 0) : -1;
    return gap >= 0 ? { row: row.gaps, at: gap } : null;
  }
  const choose = (found, scroll) => {
    marked = found;
    const { row, at } = found;
    select({ kind: row.kind, index: row.index[at] });
    marked = found;
    if (scroll && (row.end[at] < from || row.start[at] > to)) {
      const half = (to - from) / 2;
      show(row.start[at] - half, row.start[at] + half);
    }
    redraw();
  };

  function oneCall() {
    const middle = data.calls.length >> 1;
    const index = selected && selected.kind === 'call' ? selected.index : marked && marked.row.kind === 'launch' ? data.launches[marked.row.index[marked.at]][0] : null;
    const number = index === null || index === undefined ? middle : index;
    if (!data.calls.length) return;
    let end = call(number).start + call(number).length;
    for (const l of data.launches) if (l[0] === number) end = Math.max(end, l[4] + l[5]);
    const room = (end - call(number).start) * 0.05;
    show(call(number).start - room, end + room);
  }

  const tip = one('#tip');
  function hover(e) {
    const found = hit(e);
    tip.hidden = !found;
    if (!found) return;
    const index = found.row.index[found.at];
    const text = found.row.kind === 'launch' ? fullName(opOf(launch(index))) + ': ' + time(launch(index).length)
      : found.row.kind === 'copy' ? bytes(copy(index).bytes) + ' from ' + device(copy(index).from) + ' for ' + copy(index).name + ': ' + time(copy(index).length)
      : found.row.kind === 'gap' ? 'idle ' + time(data.gaps[index].ns) + ': ' + data.gaps[index].text
      : data.plans[call(index).plan].function + ', call ' + call(index).number + ': ' + time(call(index).length);
    tip.textContent = text;
    tip.style.left = Math.max(4, Math.min(e.clientX + 12, window.innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(4, e.clientY - tip.offsetHeight - 10) + 'px';
  }

  // Pointers: one drags, two zoom, one that hardly moved is a click.
  const pointers = new Map();
  let moved = 0;
  canvas.addEventListener('pointerdown', (e) => {
    pointers.set(e.pointerId, e.clientX);
    canvas.setPointerCapture(e.pointerId);
    moved = 0;
  });
  canvas.addEventListener('pointermove', (e) => {
    if (!pointers.has(e.pointerId)) { hover(e); return; }
    const before = [...pointers.values()];
    const step = e.clientX - pointers.get(e.pointerId);
    pointers.set(e.pointerId, e.clientX);
    moved += Math.abs(step);
    const left = canvas.getBoundingClientRect().left;
    if (pointers.size === 2) {
      const now = [...pointers.values()];
      const spread = (p) => Math.max(8, Math.abs(p[0] - p[1]));
      zoom(spread(before) / spread(now), t((now[0] + now[1]) / 2 - left));
    } else if (moved > 4) {
      tip.hidden = true;
      const shift = (step / plot()) * (to - from);
      show(from - shift, to - shift);
    }
  });
  const drop = (e) => {
    if (!pointers.delete(e.pointerId) || e.type === 'pointercancel') return;
    const found = moved <= 4 ? hit(e) : null;
    if (found) choose(found);
  };
  canvas.addEventListener('pointerup', drop);
  canvas.addEventListener('pointercancel', drop);
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('dblclick', (e) => zoom(0.4, t(e.clientX - canvas.getBoundingClientRect().left)));
  canvas.addEventListener('wheel', (e) => {
    if (e.ctrlKey || e.metaKey) {
      e.preventDefault();
      zoom(Math.exp(Math.min(Math.max(e.deltaY, -60), 60) * 0.01), t(e.clientX - canvas.getBoundingClientRect().left));
    } else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      e.preventDefault();
      const shift = (e.deltaX / plot()) * (to - from);
      show(from + shift, to + shift);
    }
  }, { passive: false });

  const along = (step) => {
    const row = marked ? marked.row : rows.find((r) => r.kind === 'launch') || rows[0];
    if (!row) return;
    const at = marked ? marked.at + step : Math.min(row.after(from), row.start.length - 1);
    if (at >= 0 && at < row.start.length) choose({ row, at }, true);
  };
  const across = (step) => {
    const n = marked ? rows.indexOf(rows.find((r) => r === marked.row || r.gaps === marked.row)) + step : 0;
    const row = rows[n];
    if (!row || !row.start.length) return;
    const time = marked ? marked.row.start[marked.at] : from;
    choose({ row, at: Math.min(row.after(time), row.start.length - 1) }, true);
  };
  const middle = () => (marked && selected ? (marked.row.start[marked.at] + marked.row.end[marked.at]) / 2 : (from + to) / 2);
  const actions = {
    in: () => zoom(0.5, middle()), out: () => zoom(2, middle()), fit: () => show(0, whole), call: oneCall,
  };
  const span = () => to - from;
  const keys = {
    ArrowLeft: () => show(from - span() * 0.15, to - span() * 0.15), ArrowRight: () => show(from + span() * 0.15, to + span() * 0.15),
    ArrowUp: () => across(-1), ArrowDown: () => across(1), '+': actions.in, '=': actions.in, '-': actions.out, 0: actions.fit, Home: actions.fit,
    c: actions.call, '.': () => along(1), ',': () => along(-1),
  };
  canvas.addEventListener('keydown', (e) => {
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  });
  one('#timeline .tools').addEventListener('click', (e) => {
    const action = actions[e.target.dataset.do];
    if (action) action();
  });
  whenSelected(() => { marked = null; redraw(); });
  themeWatchers.push(() => { makeHatch(); redraw(); });
  new ResizeObserver(resize).observe(canvas.parentElement);
  makeHatch();
  resize();
  // For tests of how fast it is: what a frame costs the script, without waiting for the screen.
  window.situ = { frame: (a, b) => { from = a * whole; to = b * whole; const start = performance.now(); paint(); return performance.now() - start; } };
}
