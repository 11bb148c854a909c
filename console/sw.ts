// The service worker: keeps the hashed assets of the build, so that a warm page loads none from the network. It never
// stores an answer of the API, and never the page itself, whose policy and build must be those of the server.

/** What the worker uses of its own global scope. The library of the page has no types for it. */
type WorkerScope = {
  skipWaiting(): void
  clients: { claim(): Promise<void> }
  addEventListener(
    name: 'install' | 'activate',
    listener: (event: { waitUntil(work: Promise<unknown>): void }) => void,
  ): void
  addEventListener(
    name: 'fetch',
    listener: (event: { request: Request; respondWith(answer: Promise<Response>): void }) => void,
  ): void
}

// In a service worker the global scope has this type.
const worker = globalThis as unknown as WorkerScope
const cacheName = `trunkline-${BUILD}`
const assets = new Set(ASSETS)

worker.addEventListener('install', (event) => {
  worker.skipWaiting()
  event.waitUntil(caches.open(cacheName))
})

worker.addEventListener('activate', (event) => {
  const clean = async () => {
    for (const name of await caches.keys()) if (name !== cacheName) await caches.delete(name)
    await worker.clients.claim()
    // The chunks of the page that is open already were loaded before the worker ran.
    const cache = await caches.open(cacheName)
    await Promise.allSettled(ASSETS.map((asset) => cache.add(asset)))
  }
  event.waitUntil(clean())
})

const answer = async (request: Request): Promise<Response> => {
  const cache = await caches.open(cacheName)
  const stored = await cache.match(request)
  if (stored) return stored
  const response = await fetch(request)
  if (response.ok) await cache.put(request, response.clone())
  return response
}

worker.addEventListener('fetch', (event) => {
  const { method, url } = event.request
  const { origin, pathname } = new URL(url)
  if (method === 'GET' && origin === location.origin && assets.has(pathname)) event.respondWith(answer(event.request))
})
