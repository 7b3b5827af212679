// Puts the page together.

function start() {
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  setTheme(dark.matches ? 'dark' : 'light');
  dark.addEventListener('change', () => setTheme(dark.matches ? 'dark' : 'light'));
  one('#theme').addEventListener('click', () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
  one('#title').textContent = data.title || 'A record';
  const began = data.began ? new Date(data.began * 1000).toISOString().slice(0, 16).replace('T', ' ') + ' UTC' : '';
  const clocks = data.detail === 'device' ? 'kernels by the clocks of their devices' : 'kernels by the host\'s clock';
  const dropped = data.dropped ? data.dropped + ' older events had no room and are not here' : '';
  one('#subtitle').textContent = [data.situ ? 'situ ' + data.situ : '', began, clocks, dropped].filter(Boolean).join(' · ');
  data.devices.forEach((_, d) => one('#legend').append(make('span', {}, on(d))));
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
