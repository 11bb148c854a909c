import { effect } from '@preact/signals'
import { account, session } from '../api/session.ts'
import { audio } from '../shell/audio.ts'
import { phone, phoneBarrier } from '../shell/phone.ts'
import { noPhone, type PhoneState } from '../shell/phone-state.ts'
import { words } from '../words/en/phone.ts'
import { notifyCall, watchLooks } from './call-notification.ts'
import { Line, type LineUser } from './line.ts'
import { storedAway } from './phone-presence.ts'
import type { PhoneCommand, PhoneMessage } from './protocol.ts'
import { ring } from './ringing.ts'

// One tab runs the telephone of a user: the one that holds the lock. The others show its state and send it their acts.
// When that tab closes or crashes, the browser gives the lock to the next one. A tab with a lock is not frozen. Lock and
// channel have the name of the user: tabs of another person, or of another account, have nothing to do with them.

type Membership = LineUser & {
  /** `PRS…` */
  readonly person: string
  readonly channel: BroadcastChannel
  /** Only in the tab that runs the telephone. */
  line: Line | null
  leave(): void
}

let joined: Membership | null = null

const publish = ({ channel, account }: Membership, state: PhoneState): void => {
  phone.value = state
  channel.postMessage({ type: 'state', state } satisfies PhoneMessage)
  const ringing = state.calls.find((call) => call.state === 'ringing' && call.direction === 'inbound')
  const isTalking = state.calls.some((call) => call.state === 'active')
  ring(ringing ? (isTalking ? 'waiting' : 'ring') : null)
  notifyCall(ringing, account)
}

/** Does an act of the person, in whichever tab the telephone runs. */
export const act = (command: PhoneCommand): void => {
  if (command.act === 'call' && joined?.user !== account.value?.user_uuid)
    phone.value = { ...phone.value, problem: words.problems.otherAccount }
  else if (joined?.line) joined.line.act(command)
  else joined?.channel.postMessage({ type: 'command', command } satisfies PhoneMessage)
}

/** Leaving the page would end the call. */
const onLeave = (event: BeforeUnloadEvent): void => {
  if (joined?.line?.isBusy()) event.preventDefault()
}

/** Takes part in the telephone of a user: runs it from when the lock is free until `leave`. */
const join = (who: LineUser & { readonly person: string }): Membership => {
  const name = `trunkline.phone.${who.user}`
  const channel = new BroadcastChannel(name)
  const left = Promise.withResolvers<void>()
  const waiting = new AbortController()
  const membership: Membership = {
    ...who,
    channel,
    line: null,
    leave: () => {
      const { line } = membership
      membership.line = null
      line?.close()
      if (line) publish(membership, noPhone)
      channel.close()
      waiting.abort()
      left.resolve()
      phone.value = noPhone
    },
  }
  channel.addEventListener('message', ({ data }: MessageEvent<PhoneMessage>) => {
    if (data.type === 'state' && !membership.line) phone.value = data.state
    else if (data.type === 'command') membership.line?.act(data.command)
    else if (data.type === 'hello' && membership.line) channel.postMessage({ type: 'state', state: phone.value })
  })
  channel.postMessage({ type: 'hello' } satisfies PhoneMessage)
  const run = async () => {
    if (joined !== membership) return
    membership.line = new Line(who, storedAway(), (state) => {
      if (joined !== membership) return
      publish(membership, state)
      // The page has shown another account during the call.
      if (state.calls.length === 0) follow()
    })
    await left.promise
  }
  // The wait for the lock ends with an error when the tab leaves.
  navigator.locks.request(name, { signal: waiting.signal }, run).catch(() => {})
  return membership
}

/** Takes part in the telephone of the person in the account of the page, and in another one when either changes. */
const follow = (): void => {
  const [user, uuid, person] = [account.value?.user_uuid, account.value?.uuid, session.value?.person?.uuid]
  if (session.value === undefined || (joined?.user === user && joined?.person === person)) return
  if (joined && joined.person === person) {
    // The telephone stays while the page shows nothing of the person, and during a call: only this tab can end it.
    if (phoneBarrier() !== null || joined.line?.isBusy()) return
  }
  const before = joined
  joined = null
  before?.leave()
  if (phoneBarrier() === null && user && uuid && person) joined = join({ user, account: uuid, person })
}

let hasStarted = false

/** Begins to take part in the telephone. Once per page. */
export const joinTabs = (): void => {
  if (hasStarted) return
  hasStarted = true
  addEventListener('beforeunload', onLeave)
  watchLooks()
  effect(follow)
  let isFirst = true
  effect(() => {
    const choice = audio.value
    if (!isFirst) joined?.line?.act({ act: 'audio', choice })
    isFirst = false
  })
}
