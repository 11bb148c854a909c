import { effect } from '@preact/signals'
import { account, session } from '../api/session.ts'
import { audio } from '../shell/audio.ts'
import { phone, phoneBarrier } from '../shell/phone.ts'
import { noPhone, type PhoneState } from '../shell/phone-state.ts'
import { type Line, openLine } from './line.ts'
import { storedAway } from './presence.ts'
import type { PhoneCommand, PhoneMessage } from './protocol.ts'
import { ring } from './ringing.ts'

// One tab runs the telephone: the one that holds the lock. The others show its state and send it their acts. When that
// tab closes or crashes, the browser gives the lock to the next one. A tab with a lock is not frozen.

const lockName = 'trunkline.phone'

let channel: BroadcastChannel | null = null
/** Only in the tab that runs the telephone. */
let line: Line | null = null
let openFor = ''

const post = (message: PhoneMessage): void => channel?.postMessage(message)

const publish = (state: PhoneState): void => {
  phone.value = state
  post({ type: 'state', state })
  const isRinging = state.calls.some((call) => call.state === 'ringing' && call.direction === 'inbound')
  const isTalking = state.calls.some((call) => call.state === 'active')
  ring(isRinging ? (isTalking ? 'waiting' : 'ring') : null)
}

/** Does an act of the person, in whichever tab the telephone runs. */
export const act = (command: PhoneCommand): void => {
  if (line) line.act(command)
  else post({ type: 'command', command })
}

const onMessage = ({ data }: MessageEvent<PhoneMessage>): void => {
  if (data.type === 'state' && !line) phone.value = data.state
  else if (data.type === 'command') line?.act(data.command)
  else if (data.type === 'hello' && line) post({ type: 'state', state: phone.value })
}

/** Leaving the page would end the call. */
const onLeave = (event: BeforeUnloadEvent): void => {
  if (line?.isBusy()) event.preventDefault()
}

const close = (): void => {
  line?.close()
  line = null
  openFor = ''
  publish(noPhone)
}

/** Opens the telephone of the person in the account of the page, and another one when the account changes. */
const openForAccount = (): void => {
  const [user, uuid] = [account.value?.user_uuid, account.value?.uuid]
  if (phoneBarrier() !== null || !user || !uuid) {
    // The telephone of another account stays while the page shows nothing of the person.
    if (session.value === null) close()
    return
  }
  if (user === openFor || line?.isBusy()) return
  line?.close()
  openFor = user
  line = openLine({ account: uuid, user }, storedAway(), publish)
}

/** Runs the telephone from when the lock is free until the tab closes. */
const run = async (): Promise<void> => {
  addEventListener('beforeunload', onLeave)
  effect(openForAccount)
  await new Promise<never>(() => {})
}

/** Takes part in the telephone. Once per page. */
export const joinTabs = (): void => {
  if (channel) return
  channel = new BroadcastChannel(lockName)
  channel.addEventListener('message', onMessage)
  post({ type: 'hello' })
  void navigator.locks.request(lockName, run)
  let isFirst = true
  effect(() => {
    const choice = audio.value
    if (!isFirst) line?.act({ act: 'audio', choice })
    isFirst = false
  })
}
