/** Calls the function when the browser has painted what is drawn now, so that it delays nothing that a person waits for. */
export function afterPaint(run: () => void): void {
  // A page in the background is not painted.
  if (document.hidden) setTimeout(run);
  else requestAnimationFrame(() => setTimeout(run));
}
