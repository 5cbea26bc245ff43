/* Keeps the desk's own files, so that it opens while the server is gone. No data of the library is kept here. */
const KEPT = 'desk-files';
const PAGE = '/desk/';

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

/* The page names the files that it consists of; those of earlier versions are dropped. */
self.addEventListener('message', (event) => {
  const files = event.data && event.data.files;
  if (Array.isArray(files)) event.waitUntil(keepOnly([PAGE, ...files]));
});

async function keepOnly(files) {
  const cache = await caches.open(KEPT);
  await Promise.all(files.map(async (file) => (await cache.match(file)) || cache.add(file)));
  const wanted = new Set(files.map((file) => new URL(file, self.location.origin).href));
  for (const request of await cache.keys()) if (!wanted.has(request.url)) await cache.delete(request);
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== self.location.origin) return;
  if (url.pathname === PAGE) event.respondWith(page(request));
  else if (url.pathname.startsWith('/desk/assets/')) event.respondWith(asset(request));
});

async function page(request) {
  const cache = await caches.open(KEPT);
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put(PAGE, answer.clone());
    return answer;
  } catch (error) {
    const kept = await cache.match(PAGE, { ignoreVary: true });
    if (kept) return kept;
    throw error;
  }
}

async function asset(request) {
  const cache = await caches.open(KEPT);
  // The name contains a hash of the content, so that no header of the request matters.
  return (await cache.match(request, { ignoreVary: true })) || fetch(request);
}
