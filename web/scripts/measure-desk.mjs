// Measures the scanning desks in Chromium: from Enter to the painted row, beside the time of the call itself.
//   CARREL_LAB_PASSWORD=admin node scripts/measure-desk.mjs --address http://127.0.0.1:9130 --username diku_admin
// Prints a table; --json writes the figures. `carrel lab run desk` calls it.
import { existsSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const { values: given } = parseArgs({
  options: {
    address: { type: 'string', default: 'http://127.0.0.1:9130' },
    tenant: { type: 'string', default: 'diku' },
    username: { type: 'string', default: 'diku_admin' },
    scans: { type: 'string', default: '200' },
    json: { type: 'string' },
  },
});
const password = process.env.CARREL_LAB_PASSWORD ?? 'admin';
const SCANS = Number(given.scans);
/** Rows before the desk is measured with a long list. */
const LONG_LIST = 500;
const MEMORY_SCANS = 1_000;
/** The row may come this much later than its call takes, and one frame. */
const FACTOR = 1.3;
const FRAME_MS = 16;
/** What the heap may grow by over the scans, as a part of itself. */
const FLAT = 0.1;

/** The parts of a scan beside the call, in their order. */
const PHASES = { beforeCall: 'Enter to call', afterCall: 'answer to row', waitForFrame: 'wait for frame', frame: 'frame' };

const login = await fetch(`${given.address}/authn/login`, {
  method: 'POST',
  headers: { 'X-Okapi-Tenant': given.tenant, 'Content-Type': 'application/json' },
  body: JSON.stringify({ username: given.username, password }),
});
const token = login.headers.get('x-okapi-token');
if (!token) throw new Error(`the log-in failed with ${login.status}: ${await login.text()}`);

async function call(method, path, body) {
  const response = await fetch(given.address + path, {
    method,
    headers: { 'X-Okapi-Token': token, 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Items on the shelf that the patron may borrow, and about which staff are asked nothing. */
async function findItems(count, patron) {
  const { servicepoints } = await call('GET', '/service-points?limit=1&query=pickupLocation==true');
  const query = encodeURIComponent('status.name=="Available" sortby barcode');
  const { items } = await call('GET', `/inventory/items?limit=${count * 3}&query=${query}`);
  const plain = items.filter((item) => item.barcode && item.circulationNotes.length === 0 && !item.numberOfPieces && !item.missingPieces);
  const barcodes = [];
  for (const { barcode } of plain) {
    if (barcodes.length === count) break;
    const scan = { itemBarcode: barcode, userBarcode: patron, servicePointId: servicepoints[0].id };
    const lent = await call('POST', '/circulation/check-out-by-barcode-dry-run', scan).catch(() => undefined);
    if (lent) barcodes.push(barcode);
  }
  if (barcodes.length < 20) throw new Error(`only ${barcodes.length} items can be lent`);
  return barcodes;
}

async function makePatron() {
  const { usergroups } = await call('GET', '/groups?limit=100');
  const group = usergroups.find((one) => one.group === 'faculty') ?? usergroups[0];
  const barcode = `29${Math.floor(Math.random() * 1e10)}`;
  await call('POST', '/users', {
    id: crypto.randomUUID(),
    username: `measured-${barcode}`,
    barcode,
    active: true,
    type: 'patron',
    patronGroup: group?.id,
    personal: { lastName: 'Measured', firstName: 'Desk', preferredContactTypeId: '002', email: 'desk@example.org' },
  });
  return barcode;
}

/** Within the page: the times of the scan whose Enter comes next. */
function watch() {
  const page = window;
  page.scanned = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('a scan had no answer within 30 seconds')), 30_000);
    let enter = 0;
    const pressed = (event) => event.key === 'Enter' && (enter = event.timeStamp);
    document.addEventListener('keydown', pressed, { capture: true, once: true });
    const before = document.querySelector('tr.row');
    const observer = new MutationObserver(() => {
      const row = document.querySelector('tr.row');
      const state = row?.dataset.state;
      if (row === before || state === undefined || state === 'waiting' || state === 'working') return;
      observer.disconnect();
      const drawn = performance.now();
      requestAnimationFrame(() => {
        const frame = performance.now();
        const painted = new MessageChannel();
        painted.port1.onmessage = () => resolve({ enter, drawn, frame, shown: performance.now(), state });
        painted.port2.postMessage(0);
      });
    });
    observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-state'] });
  });
}

const at = (values, part) => [...values].sort((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0;

/** Waits until the barcode field has the focus, and keeps it. */
async function focusIn(page) {
  await page.waitForTimeout(400);
  await page.waitForFunction(() => document.activeElement?.closest('.scan-field') !== null);
}

class MeasuredDesk {
  constructor(page) {
    this.page = page;
  }

  async scan(barcode) {
    await this.page.keyboard.insertText(barcode);
    await this.page.keyboard.press('Enter');
  }

  /** A scan, its row and its call, in milliseconds. */
  async measured(barcode, path) {
    await this.page.keyboard.insertText(barcode);
    await this.page.evaluate(() => performance.clearResourceTimings());
    await this.page.evaluate(watch);
    await this.page.keyboard.press('Enter');
    return this.page.evaluate(async (part) => {
      const { enter, drawn, frame, shown, state } = await window.scanned;
      const calls = performance.getEntriesByType('resource').filter((entry) => entry.name.includes(part));
      const call = calls.reduce((sum, one) => sum + one.responseEnd - one.startTime, 0);
      const phases = { beforeCall: (calls[0]?.startTime ?? enter) - enter, afterCall: drawn - (calls.at(-1)?.responseEnd ?? drawn), waitForFrame: frame - drawn, frame: shown - frame };
      return { shown: shown - enter, state, call, calls: calls.length, phases };
    }, path);
  }

  async level(name, barcodes, path) {
    const samples = [];
    for (const barcode of barcodes) {
      const sample = await this.measured(barcode, path);
      if (sample.state === 'done') samples.push(sample);
      // A slip or a question is read and closed, and not measured.
      for (let tries = 0; tries < 5 && (await this.page.getByRole('dialog').isVisible()); tries += 1) {
        await this.page.waitForTimeout(300);
        await this.page.keyboard.press('Escape');
      }
    }
    const figures = { name, scans: samples.length };
    for (const [key, part] of [['p50', 0.5], ['p95', 0.95]]) {
      const shown = at(samples.map((one) => one.shown), part);
      const own = at(samples.map((one) => one.call), part);
      figures[key] = { shown_ms: shown, call_ms: own, limit_ms: FACTOR * own + FRAME_MS };
    }
    // Where the time beyond the call goes.
    figures.phases_ms = Object.fromEntries(Object.keys(PHASES).map((phase) => [phase, at(samples.map((one) => one.phases[phase]), 0.5)]));
    const within = samples.filter((one) => one.shown <= FACTOR * one.call + FRAME_MS).length;
    return { ...figures, within: within / Math.max(1, samples.length), calls: samples.reduce((sum, one) => sum + one.calls, 0) / Math.max(1, samples.length) };
  }

  /** Bytes in use after a collection of garbage. */
  async heap() {
    const inspector = await this.page.context().newCDPSession(this.page);
    await inspector.send('HeapProfiler.collectGarbage');
    const { usedSize } = await inspector.send('Runtime.getHeapUsage');
    await inspector.detach();
    return usedSize;
  }

  async fast(barcodes, count) {
    for (let done = 0; done < count; done += 1) {
      await this.scan(barcodes[done % barcodes.length]);
      if (done % 25 === 24) await this.settled();
    }
    await this.settled();
  }

  /** Waits until every row has an answer. */
  async settled() {
    await this.page.waitForFunction(() => document.querySelector('tr.row[data-state=waiting], tr.row[data-state=working]') === null, undefined, { timeout: 60_000 });
  }
}

const executablePath = process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!executablePath) throw new Error("Chromium is missing: install it, on Debian with 'apt-get install chromium', or name it in CHROMIUM");
const patron = await makePatron();
const items = await findItems(SCANS, patron);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });
const machine = { browser: browser.version(), cores: cpus().length, load_average: loadavg()[0] };
const levels = [];
const memory = {};
try {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 }, locale: 'en-US' })).newPage();
  await page.addInitScript(() => (window.print = () => window.dispatchEvent(new Event('afterprint'))));
  await page.goto(`${given.address}/desk/`);
  await page.getByLabel('Tenant').fill(given.tenant);
  await page.getByLabel('Username').fill(given.username);
  await page.getByLabel('Password').fill(password);
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  const desk = new MeasuredDesk(page);
  await desk.scan(patron);
  await page.getByRole('link', { name: /Measured/ }).waitFor();
  await page.waitForLoadState('networkidle');
  await focusIn(page);
  const lent = items.slice(0, SCANS);
  levels.push(await desk.level('check-out', lent, 'check-out-by-barcode'));
  await page.keyboard.press('Alt+E');
  await page.waitForTimeout(500);
  await page.keyboard.press('Alt+R');
  await page.getByRole('heading', { name: 'Check in' }).waitFor();
  await focusIn(page);
  // Slips would be offered for what goes elsewhere; in batch mode nothing is asked.
  await page.getByText('Batch: ask nothing').click();
  await focusIn(page);
  levels.push(await desk.level('check-in', lent, 'check-in-by-barcode'));
  await desk.fast(lent, Math.max(0, LONG_LIST - lent.length));
  levels.push(await desk.level(`check-in, list of ${LONG_LIST}`, lent, 'check-in-by-barcode'));
  memory.before_bytes = await desk.heap();
  await desk.fast(lent, MEMORY_SCANS);
  memory.after_bytes = await desk.heap();
  memory.scans = MEMORY_SCANS;
  memory.growth = memory.after_bytes / memory.before_bytes - 1;
} finally {
  await browser.close();
}

const ms = (value) => value.toFixed(1).padStart(7);
console.log(`Chromium ${machine.browser}, ${machine.cores} cores, load average ${machine.load_average.toFixed(1)} at the start and ${loadavg()[0].toFixed(1)} at the end.`);
console.log(`From Enter to the painted row, in milliseconds; the limit is ${FACTOR} × the call + ${FRAME_MS}.`);
console.log('                        scans     row p50    call   limit     row p95    call   limit   within  calls/scan');
for (const { name, scans, p50, p95, within, calls } of levels) {
  console.log(
    `${name.padEnd(22)} ${String(scans).padStart(6)}   ${ms(p50.shown_ms)} ${ms(p50.call_ms)} ${ms(p50.limit_ms)}    ${ms(p95.shown_ms)} ${ms(p95.call_ms)} ${ms(p95.limit_ms)}   ${(100 * within).toFixed(0).padStart(4)} %   ${calls.toFixed(2)}`,
  );
}
console.log('Beside the call, medians in milliseconds:');
for (const { name, phases_ms } of levels) console.log(`${name.padEnd(22)} ${Object.entries(PHASES).map(([phase, label]) => `${label} ${phases_ms[phase].toFixed(1)}`).join(', ')}`);
const mb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
console.log(`Memory of the page over ${MEMORY_SCANS} scans: ${mb(memory.before_bytes)} → ${mb(memory.after_bytes)} (${(100 * memory.growth).toFixed(1)} %; at most ${100 * FLAT} %)`);
if (given.json) writeFileSync(given.json, JSON.stringify({ machine, factor: FACTOR, frame_ms: FRAME_MS, levels, memory }, null, 2));
const isWithin = levels.every(({ p50 }) => p50.shown_ms <= p50.limit_ms) && memory.growth <= FLAT;
console.log(isWithin ? 'Within the limits (median, memory).' : 'Beyond a limit (median, memory).');
