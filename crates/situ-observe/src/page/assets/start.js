// Puts the page together.

function start() {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  setTheme(dark.matches ? 'dark' : 'light');
  dark.addEventListener('change', () => setTheme(dark.matches ? 'dark' : 'light'));
  one('#theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
  one('#title').textContent = data.title || 'A record';
  const began = data.began ? new Date(data.began * 1000).toISOString().slice(0, 16).replace('T', ' ') + ' UTC' : '';
  const clocks = { device: 'each kernel timed by its device', pass: 'GPU passes timed by their devices', host: 'timed by the host\'s clock' }[data.detail];
  const dropped = data.dropped ? data.dropped + ' older events had no room and are not here' : '';
  one('#subtitle').textContent = [data.situ ? 'situ ' + data.situ : '', began, clocks, dropped].filter(Boolean).join(' · ');
  data.devices.forEach((info, d) => one('#legend').append(make('span', { title: info.description }, on(d))));
  one('#legend').append(make('span', {}, make('span', { class: 'dot idle' }), 'idle, and why'), make('span', {}, make('span', { class: 'dot pale' }), 'a copy that waits'), make('span', {}, '→ copied'));
  if (data.passes.length) one('#legend').append(make('span', {}, '▭ timed as one pass'));
  const trained = data.plans.some((p) => p.nodes.some((n) => (n.name || '').startsWith('gradient')));
  if (trained) one('#legend').append(make('span', {}, 'darker: gradients'));
  summarySection();
  findingSection();
  startTimeline();
  idleSection();
  startGraph();
  memorySection();
  copySection();
  predictionSection();
  opSection();
  eventSection();
}
start();
