// The rows of the timeline: which events are on which, and finding them by time.

/** Events of one row, by start; none overlap, so ends are in order too. */
class Row {
  constructor(kind, where, indexes, span) {
    this.kind = kind; // 'call', 'launch', 'copy', 'gap'
    this.device = where;
    const events = indexes.map((index) => [index, ...span(index)]).sort((a, b) => a[1] - b[1]);
    this.index = events.map((e) => e[0]);
    this.start = Float64Array.from(events, (e) => e[1]);
    this.end = Float64Array.from(events, (e) => e[1] + e[2]);
    this.top = 0;
    this.height = 0;
  }
  /** The first event that ends after a time. */
  after(t) {
    let low = 0;
    let high = this.end.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > t) high = middle; else low = middle + 1;
    }
    return low;
  }
  /** The event at a time, or the nearest within some time of it; -1: none. */
  at(t, slack) {
    let best = -1;
    let distance = slack;
    for (let i = Math.max(0, this.after(t) - 1); i < this.start.length && this.start[i] <= t + slack; i += 1) {
      const away = t < this.start[i] ? this.start[i] - t : t > this.end[i] ? t - this.end[i] : 0;
      if (away <= distance) { best = i; distance = away; }
    }
    return best;
  }
}

/** All rows, from the top: calls, then each device with its kernels and the copies to it. Sets their places. */
function makeRows() {
  const rows = [];
  const bands = [];
  const by = (count, of, key) => {
    const lists = [];
    for (let i = 0; i < count; i += 1) (lists[key(of(i))] ||= []).push(i);
    return lists;
  };
  let y = 22;
  const add = (row, height) => {
    row.top = y;
    row.height = height;
    y += height + 2;
    rows.push(row);
  };
  const threads = by(data.calls.length, call, (c) => c.thread);
  threads.forEach((list) => add(new Row('call', -1, list, (i) => [call(i).start, call(i).length]), 16));
  data.devices.forEach((info, d) => {
    const [kernels, arrivals] = info.rows;
    if (kernels + arrivals === 0) return;
    y += 8;
    const band = { device: d, top: y, copies: 0 };
    const launches = [];
    data.launches.forEach((l, i) => { if (l[2] === d) (launches[l[3]] ||= []).push(i); });
    launches.forEach((list, n) => {
      const row = new Row('launch', d, list, (i) => [data.launches[i][4], data.launches[i][5]]);
      add(row, kernels > 6 ? 12 : 26);
      if (n === 0) {
        const gaps = [];
        data.gaps.forEach((g, i) => { if (g.device === d) gaps.push(i); });
        row.gaps = new Row('gap', d, gaps, (i) => [data.gaps[i].start, data.gaps[i].ns]);
        const passes = [];
        data.passes.forEach((p, i) => { if (p[0] === d) passes.push(i); });
        row.passes = new Row('pass', d, passes, (i) => [data.passes[i][1], data.passes[i][2]]);
        for (const other of [row.gaps, row.passes]) Object.assign(other, { top: row.top, height: row.height });
      }
    });
    y = Math.max(y, band.top + 30);
    // Arrows leave from above or below the kernels; a device without any has its name there.
    band.kernels = [band.top, launches.length ? y - 4 : y];
    const copies = [];
    data.copies.forEach((c, i) => { if (c[1] === d) (copies[c[7]] ||= []).push(i); });
    if (copies.length) { y += 4; band.copies = y; }
    copies.forEach((list) => add(new Row('copy', d, list, (i) => [data.copies[i][8], data.copies[i][9]]), copies.length > 4 ? 10 : 14));
    band.bottom = y;
    bands.push(band);
    y += 6;
  });
  return { rows, bands, height: y + 6 };
}
