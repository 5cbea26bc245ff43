/*
 * Starts the program with the sample library on a private database, once for all browser tests. A server that runs
 * already is used instead where CARREL_DESK_ADDRESS names it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const START_MS = 120_000;

export default async function start(): Promise<() => Promise<void>> {
  if (process.env.CARREL_DESK_ADDRESS) return async () => {};
  const program = process.env.CARREL_PROGRAM ?? fileURLToPath(new URL('../../target/debug/carrel', import.meta.url));
  const scratch = mkdtempSync(join(tmpdir(), 'carrel-desk-'));
  // As root, PostgreSQL runs as another user, who must reach the directory below.
  chmodSync(scratch, 0o755);
  const data = join(scratch, 'data');
  const port = await freePort();
  const server = spawn(program, ['demo', '--data', data, '--port', String(port)], { stdio: ['ignore', 'pipe', 'pipe'] });
  await ready(server);
  process.env.CARREL_DESK_ADDRESS = `http://127.0.0.1:${port}`;
  return async () => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGTERM');
    await ended;
    rmSync(scratch, { recursive: true, force: true });
  };
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => reject(new Error(`the server did not start in ${START_MS / 1000} s:\n${text}`)), START_MS);
    const read = (chunk: Buffer) => {
      text += chunk.toString();
      if (/is ready at/.test(text)) {
        clearTimeout(timer);
        resolve();
      }
    };
    server.stdout?.on('data', read);
    server.stderr?.on('data', read);
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${text}`)));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (address && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}
