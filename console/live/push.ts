import { signal } from '@preact/signals'
import { api } from '../api/client.ts'
import { account, may, session } from '../api/session.ts'

// Web Push in this browser. The subscription belongs to the browser; the server knows whose it is.

export type PushObstacle = 'insecure' | 'home-screen' | 'unsupported' | 'denied'

const storageName = 'trunkline.push'

const storedPerson = (): string | null => {
  try {
    return localStorage.getItem(storageName)
  } catch {
    return null
  }
}

const store = (person: string | null): void => {
  try {
    if (person) localStorage.setItem(storageName, person)
    else localStorage.removeItem(storageName)
  } catch {
    // The browser forbids storage: it is asked again with the next page.
  }
}

/** True once this browser gets the notifications of the person. Undefined: not known yet. */
export const isPushOn = signal<boolean | undefined>(undefined)

/** Id of this browser's subscription, once the server has confirmed it. */
export const ownSubscription = signal('')

const isAppleTouch = (): boolean =>
  /\b(?:iPhone|iPad)\b/.test(navigator.userAgent) || (/Mac/.test(navigator.userAgent) && navigator.maxTouchPoints > 1)

/** Returns why this browser cannot get notifications; null if it can. */
export const pushObstacle = (): PushObstacle | null => {
  if (!isSecureContext) return 'insecure'
  // Safari on iOS has push in web apps of the Home Screen only.
  if (!('PushManager' in globalThis) && isAppleTouch()) return 'home-screen'
  if (!('PushManager' in globalThis && 'serviceWorker' in navigator && 'Notification' in globalThis))
    return 'unsupported'
  return Notification.permission === 'denied' ? 'denied' : null
}

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))

const registration = async (): Promise<ServiceWorkerRegistration | undefined> =>
  'serviceWorker' in navigator ? navigator.serviceWorker.getRegistration('/console') : undefined

/** Tells the server of the browser's subscription. */
const announce = async (subscription: PushSubscription): Promise<void> => {
  const { endpoint, keys } = subscription.toJSON()
  const body = { endpoint: endpoint ?? '', keys: { p256dh: keys?.p256dh ?? '', auth: keys?.auth ?? '' } }
  const reply = await api('POST /open/me/push-subscriptions', { body })
  ownSubscription.value = reply.subscription.uuid
  store(session.value?.person?.uuid ?? null)
  isPushOn.value = true
}

/** Asks the person for permission and subscribes. @returns false if the person refused @throws Error without a push service */
export const turnPushOn = async (): Promise<boolean> => {
  if ((await Notification.requestPermission()) !== 'granted') return false
  const { public_key } = await api('GET /open/me/push-subscriptions', {})
  const { pushManager } = await navigator.serviceWorker.ready
  // A subscription under another key, of an installation that lost its master key, is of no use.
  await (await pushManager.getSubscription())?.unsubscribe()
  await announce(await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(public_key) }))
  return true
}

/** Ends the notifications in this browser. */
export const turnPushOff = async (): Promise<void> => {
  store(null)
  const subscription = await (await registration())?.pushManager.getSubscription()
  await subscription?.unsubscribe()
  const id = ownSubscription.value
  ownSubscription.value = ''
  isPushOn.value = false
  if (id)
    await api('DELETE /open/me/push-subscriptions/:push_subscription_uuid', { params: { push_subscription_uuid: id } })
}

/** Confirms the subscription of the person who is signed in: its earlier session may have ended. Once for each page. */
export const confirmPush = async (): Promise<void> => {
  const person = session.value?.person?.uuid
  if (!person || !account.value || !may('inbox') || pushObstacle() !== null || storedPerson() !== person) {
    isPushOn.value = false
    return
  }
  const subscription = await (await registration())?.pushManager.getSubscription()
  if (Notification.permission !== 'granted' || !subscription) isPushOn.value = false
  else await announce(subscription)
}
