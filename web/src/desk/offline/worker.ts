/* Registers the worker that keeps the desk's files, and names them to it. */

export async function keepFilesForOffline(): Promise<void> {
  if (!('serviceWorker' in navigator) || import.meta.env.DEV) return;
  // A page without TLS has no worker; it works all the same while the server is there.
  const registration = await navigator.serviceWorker.register('/desk/offline-worker.js').catch(() => undefined);
  if (!registration) return;
  await navigator.serviceWorker.ready;
  // The page for offline work is loaded now, as it can not be fetched when it is needed.
  await import('./OfflinePage.tsx').catch(() => {});
  const files = performance
    .getEntriesByType('resource')
    .map((entry) => new URL(entry.name))
    .filter((url) => url.origin === location.origin && url.pathname.startsWith('/desk/assets/'))
    .map((url) => url.pathname);
  (registration.active ?? navigator.serviceWorker.controller)?.postMessage({ files: [...new Set(files)] });
}
