// The scan page must be usable soon: what the browser loads before the first scan is at most 200 KB compressed.
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const MOST_BYTES = 200_000;
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const html = readFileSync(`${dist}index.html`, 'utf8');
const files = ['index.html', ...[...html.matchAll(/"\/desk\/(assets\/[^"]+)"/g)].map((match) => match[1])];
const sizes = files.map((file) => [file, statSync(`${dist}${file}.gz`).size]);
const total = sizes.reduce((sum, [, size]) => sum + size, 0);
console.log(sizes.map(([file, size]) => `${size} ${file}`).join('\n'));
console.log(`${total} bytes of at most ${MOST_BYTES}`);
if (total > MOST_BYTES) process.exit(1);
