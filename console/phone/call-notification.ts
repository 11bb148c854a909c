import { isAway, notify, withdraw } from '../live/attention.ts'
import { isQuietNow, notificationChoices } from '../live/notification-choices.ts'
import type { PhoneCall } from '../shell/phone-state.ts'

// The notification of a call that rings while no page is looked at. The server notifies only people whose pages were all
// closed or hidden for 30 s: both notifications have the tag of the call, so that one is shown.

/** Pages that are looked at share this lock: the browser gives it up with a page that closes or crashes. */
const lookLock = 'trunkline.phone.look'

let release: (() => void) | null = null

const noteLook = (): void => {
  if (isAway()) {
    release?.()
    release = null
  } else if (!release) {
    const ended = Promise.withResolvers<void>()
    release = ended.resolve
    void navigator.locks.request(lookLock, { mode: 'shared' }, () => ended.promise)
  }
}

/** Begins to note whether the page is looked at. Call once. */
export const watchLooks = (): void => {
  noteLook()
  document.addEventListener('visibilitychange', noteLook)
  addEventListener('focus', noteLook)
  addEventListener('blur', noteLook)
}

const isLookedAt = async (): Promise<boolean> =>
  (await navigator.locks.query()).held?.some(({ name }) => name === lookLock) ?? false

let shown = ''

/** Shows the notification of the call that rings, and withdraws it when none does. @param account `ACC…` of the call */
export const notifyCall = (ringing: PhoneCall | undefined, account: string): void => {
  const tag = ringing?.uuid?.slice('CDR'.length) ?? ''
  if (tag === shown) return
  if (shown) void withdraw(shown)
  shown = tag
  if (!tag || !notificationChoices().calls || isQuietNow()) return
  void isLookedAt().then((isSeen) => {
    if (!isSeen && shown === tag) void notify({ kind: 'call', tag, account })
  })
}
