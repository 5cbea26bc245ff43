/* Registers the service worker that caches the desk's files, and sends it their names. */

export async function keepFilesForOffline(): Promise<void> {
  if (!('serviceWorker' in navigator) || import.meta.env.DEV) return;
  // Without TLS there is no service worker; the desk still works while the server is reachable.
  const registration = await navigator.serviceWorker.register('/desk/offline-worker.js').catch(() => undefined);
  if (!registration) return;
  await navigator.serviceWorker.ready;
  // Load the offline page now, because it cannot be fetched when the server is down.
  await import('./OfflinePage.tsx').catch(() => {});
  const files = performance
    .getEntriesByType('resource')
    .map((entry) => new URL(entry.name))
    .filter((url) => url.origin === location.origin && url.pathname.startsWith('/desk/assets/'))
    .map((url) => url.pathname);
  (registration.active ?? navigator.serviceWorker.controller)?.postMessage({ files: [...new Set(files)] });
}
