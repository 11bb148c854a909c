import { isConsolePath } from './live/notification-click.ts'
import { notificationOf, type PushMessage } from './live/push-messages.ts'

// The service worker: keeps the hashed assets of the build, so that a warm page loads none from the network, and shows
// notifications. It never stores an answer of the API. The page comes from the server, whose policy and build it has: the
// copy opens only while no server can be reached.

type Work = { waitUntil(work: Promise<unknown>): void }

type WindowClient = {
  readonly url: string
  readonly visibilityState: string
  focus(): Promise<unknown>
  postMessage(message: object): void
}

/** The part of its global scope that the worker uses. The library of the page has no types for it. */
type WorkerScope = {
  skipWaiting(): void
  readonly registration: ServiceWorkerRegistration
  clients: {
    claim(): Promise<void>
    matchAll(options: { type: 'window'; includeUncontrolled: true }): Promise<readonly WindowClient[]>
    openWindow(url: string): Promise<unknown>
  }
  addEventListener(name: 'install' | 'activate', listener: (event: Work) => void): void
  addEventListener(name: 'push', listener: (event: Work & { readonly data: { json(): unknown } | null }) => void): void
  addEventListener(name: 'notificationclick', listener: (event: Work & { notification: Notification }) => void): void
  addEventListener(
    name: 'fetch',
    listener: (event: { request: Request; respondWith(answer: Promise<Response>): void }) => void,
  ): void
}

// In a service worker the global scope has this type.
const worker = globalThis as unknown as WorkerScope
const cacheName = `trunkline-${BUILD}`
const assets = new Set(ASSETS.map((name) => `/console/assets/${name}`))
const pageAddress = '/console'

worker.addEventListener('install', (event) => {
  worker.skipWaiting()
  event.waitUntil(caches.open(cacheName))
})

/** Keeps a copy of the page that knows nothing of the session. */
const storePage = async (cache: Cache): Promise<void> => {
  const page = await fetch(pageAddress, { headers: { accept: 'text/html' } })
  if (!page.ok) return
  const headers = new Headers(page.headers)
  for (const name of ['content-encoding', 'content-length', 'link']) headers.delete(name)
  const html = (await page.text()).replace('data-session="none"', 'data-session="unknown"')
  await cache.put(pageAddress, new Response(html, { headers }))
}

worker.addEventListener('activate', (event) => {
  const clean = async () => {
    for (const name of await caches.keys()) if (name !== cacheName) await caches.delete(name)
    await worker.clients.claim()
    // The chunks of the page that is open already were loaded before the worker ran.
    const cache = await caches.open(cacheName)
    await Promise.allSettled([storePage(cache), ...[...assets].map((asset) => cache.add(asset))])
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

/** Opens a page of the server, or the copy while the server cannot be reached. */
const openDocument = async (request: Request): Promise<Response> => {
  try {
    return await fetch(request)
  } catch (error) {
    const copy = await (await caches.open(cacheName)).match(pageAddress)
    if (copy) return copy
    throw error
  }
}

worker.addEventListener('fetch', (event) => {
  const { method, mode, url } = event.request
  const { origin, pathname } = new URL(url)
  if (method !== 'GET' || origin !== location.origin) return
  if (assets.has(pathname)) event.respondWith(answer(event.request))
  else if (mode === 'navigate' && isConsolePath(pathname)) event.respondWith(openDocument(event.request))
})

/** Shows a message, or withdraws the one that it names. */
const receive = async (message: PushMessage): Promise<void> => {
  const { registration } = worker
  if (message.kind === 'close') {
    for (const shown of await registration.getNotifications({ tag: message.tag ?? '' })) shown.close()
    return
  }
  const { title, body, tag, url } = notificationOf(message)
  await registration.showNotification(title, { body, tag, data: { url }, requireInteraction: message.kind === 'call' })
}

worker.addEventListener('push', (event) => {
  // The server of this origin makes and encrypts these messages.
  if (event.data) event.waitUntil(receive(event.data.json() as PushMessage))
})

/** Brings a page of the console to the conversation, or opens one. */
const openPage = async (url: string): Promise<void> => {
  const pages = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  const page = pages.find(({ visibilityState }) => visibilityState === 'visible') ?? pages[0]
  if (!page) return void (await worker.clients.openWindow(url))
  // A browser may forbid it, unless a person clicked.
  await page.focus().catch(() => {})
  page.postMessage({ type: 'open', url })
}

worker.addEventListener('notificationclick', (event) => {
  event.notification.close()
  const { url } = Object(event.notification.data)
  if (isConsolePath(url)) event.waitUntil(openPage(url))
})
