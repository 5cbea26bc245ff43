/** Calls the function after the browser has painted the current state, so that it delays no visible change. */
export function afterPaint(run: () => void): void {
  // A page in the background is not painted.
  if (document.hidden) setTimeout(run);
  else requestAnimationFrame(() => setTimeout(run));
}

/** The longest wait of `whenIdle`, in milliseconds. */
const IDLE_WITHIN_MS = 250;

/** Calls the function when the browser is idle, at the latest after a quarter of a second. */
export function whenIdle(run: () => void): void {
  // Safari has no such callback.
  if (typeof requestIdleCallback === 'function') requestIdleCallback(run, { timeout: IDLE_WITHIN_MS });
  else setTimeout(run, IDLE_WITHIN_MS);
}
