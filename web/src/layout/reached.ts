/* Whether the server responded to the last call; while it does not, it is polled every three seconds. */
import { onReached } from '../api/client.ts';

const AGAIN_MS = 3_000;

let reached = true;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

onReached((now) => {
  if (now !== reached) {
    reached = now;
    for (const listener of listeners) listener();
  }
  clearTimeout(timer);
  if (!now) timer = setTimeout(() => void askAgain(), AGAIN_MS);
});

async function askAgain(): Promise<void> {
  const answered = await fetch('/admin/health', { cache: 'no-store' }).then((response) => response.ok, () => false);
  if (!answered) {
    timer = setTimeout(() => void askAgain(), AGAIN_MS);
    return;
  }
  reached = true;
  for (const listener of listeners) listener();
}

export function isReached(): boolean {
  return reached;
}

export function onReachedChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
