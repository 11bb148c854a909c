import { isConsolePath } from './live/notification-click.ts'
import { notificationOf, type PushMessage } from './live/push-messages.ts'

// The service worker: keeps the hashed assets of the build, so that a warm page loads none from the network, and shows
// notifications. It never stores an answer of the API, and never the page itself, whose policy and build must be those of
// the server.

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
