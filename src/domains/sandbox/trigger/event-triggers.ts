import { setTimeout as after } from 'node:timers/promises'
import type { Account } from '../../../platform/http/auth.ts'
import { refuse } from '../../../platform/http/problem.ts'
import type { Services } from '../../../services.ts'
import type { Event } from '../../events/ops.ts'
import type { Channel } from '../../msgapp/channels/ops.ts'
import { sendText as sendOnMsgapp } from '../../msgapp/messages/ops.ts'
import { isSimulated, sendMessage } from '../../sms/ops.ts'
import { triggerPollMs, triggerTimeoutMs } from '../limits.ts'
import { refusals } from '../refusals.ts'
import type { ChatAction } from '../simulator-client.ts'
import { byNetworkId } from '../store.ts'
import * as store from './store.ts'

type EventName = Event['name']

// Numbers that Ofcom reserves for drama: unassigned, and handsets in the sandbox.
const caller = '+447700900123'
const undeliverable = '+447700900001'
const notOnMsgapp = '+447700900006'
const numbersFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => `+447700900${first + n}`)
const [friends, strangers] = [numbersFrom(123, 20), numbersFrom(300, 500)]

const hello = 'Hello from Trunkline'
const helloBack = 'Hello back'

/** Origin of an event: a handset or the account itself. */
export type Origin = 'handset' | 'account'

/** A number for SMS or calls. */
type NumberRef = { readonly number: string }

/** @returns null when the event cannot be triggered */
export const triggerSms = async (
  parts: Services,
  account: Account,
  name: EventName,
  line: NumberRef,
): Promise<Origin | null> => {
  if (name === 'sms.message.received') {
    await parts.simulator.send(caller, line.number, helloBack)
    return 'handset'
  }
  const to = name === 'sms.message.failed' ? undeliverable : caller
  // A real carrier must not carry the message.
  if (!isSimulated(parts, account.id, to)) return null
  await sendMessage(parts, null, account, { from: line.number, to, text: hello, sendAt: null })
  return 'account'
}

/** Events of calls that a call of a handset to a number does not cause: it may ring nobody. */
const otherCallEvents: readonly EventName[] = [
  'call.outbound.completed',
  'call.answered',
  'call.recording.ready',
  'call.program.failed',
]

/** Places a call from a handset. @returns null when the event cannot be triggered */
export const triggerCall = async (
  { simulator }: Services,
  name: EventName,
  line: NumberRef,
): Promise<Origin | null> => {
  if (otherCallEvents.includes(name)) return null
  await simulator.dial(caller, line.number, { seconds: 3 })
  return 'handset'
}

/** Polls until the condition holds. @throws the 503 Problem after 10 s */
const waitFor = async (what: string, look: () => Promise<boolean>): Promise<void> => {
  const until = performance.now() + triggerTimeoutMs
  while (!(await look())) {
    if (performance.now() > until) throw refusals.notDelivered(what)
    await after(triggerPollMs)
  }
}

/** A channel, preferred groups, and two handsets with numbers that are not a channel of any account. */
type ChatContext = {
  readonly parts: Services
  readonly channel: Channel
  readonly groups: readonly string[]
  readonly handset: string
  readonly member: string
}

type Action = (about: ChatContext) => Promise<Origin>

/** Performs a handset action on the sandbox network. @returns the id of the created object */
const perform = async ({ simulator }: Services, number: string, deed: ChatAction, body: object): Promise<string> => {
  const done = await simulator.chatAction(number, deed, body)
  return done ? (done.id ?? '') : refuse(refusals.handsetCannot(number, deed))
}

const writes: Action = async ({ parts, channel, handset }) => {
  await perform(parts, handset, 'msgapp', { to: channel.number, text: helloBack })
  return 'handset'
}

/** The handset writes, and acts on the message once the platform has stored it. */
const onStoredMessage =
  (deed: 'react' | 'edit', body: object): Action =>
  async ({ parts, channel, handset }) => {
    const id = await perform(parts, handset, 'msgapp', { to: channel.number, text: helloBack })
    const isStored = async () => (await byNetworkId(parts.db, channel.account, [id])).length > 0
    await waitFor('the message to the platform', isStored)
    await perform(parts, handset, deed, { id, ...body })
    return 'handset'
  }

/** The handset reacts to what it wrote in a group. */
const reactsInGroup: Action = async (about) => {
  const { parts, channel, member } = about
  const group = await groupFor(about, true)
  const id = await perform(parts, member, 'msgapp', { group, text: helloBack })
  await waitFor(
    'the message to the platform',
    async () => (await byNetworkId(parts.db, channel.account, [id])).length > 0,
  )
  await perform(parts, member, 'react', { id, emoji: '👍' })
  return 'handset'
}

const sends: Action = async ({ parts, channel, handset }) => {
  await sendOnMsgapp(parts.chat, channel, handset, hello)
  return 'account'
}

/** A group with the channel in it, with or without the guest. */
const groupFor = async (
  { parts, channel, groups, handset, member }: ChatContext,
  isMemberIn: boolean,
): Promise<string> => {
  const { db, simulator } = parts
  const { account, id, number } = channel
  const known = await store.groupOfChannel(db, account, id, groups)
  const group = known ?? (await perform(parts, handset, 'group', { name: 'Book club', participants: [number] }))
  // The network refuses a guest who is already in or out.
  await simulator.chatAction(member, isMemberIn ? 'enter' : 'leave', { group })
  return group
}

const inGroup =
  (isMemberIn: boolean, deed: ChatAction, body: object): Action =>
  async (about) => {
    const group = await groupFor(about, isMemberIn)
    await perform(about.parts, about.member, deed, { group, ...body })
    return 'handset'
  }

/** The handset opens a message after receiving it. */
const reads: Action = async (about) => {
  const { simulator } = about.parts
  const { number: from } = about.channel
  await sends(about)
  const isRead = async () => {
    const done = await simulator.chatAction(about.handset, 'read', { from })
    return done ? (done.read ?? 0) > 0 : refuse(refusals.handsetCannot(about.handset, 'read'))
  }
  await waitFor('the message to the handset', isRead)
  return 'account'
}

const begins: Action = async ({ parts, channel, handset }) => {
  const stranger = await store.unusedHandset(parts.db, channel.account, channel.id, strangers)
  await perform(parts, stranger ?? handset, 'msgapp', { to: channel.number, text: helloBack })
  return 'handset'
}

const actions: ReadonlyMap<EventName, Action> = new Map<EventName, Action>([
  ['msgapp.message.new', writes],
  ['msgapp.message.received', writes],
  ['msgapp.message.reaction', onStoredMessage('react', { emoji: '👍' })],
  ['msgapp.message.edited', onStoredMessage('edit', { text: `${helloBack} again` })],
  ['msgapp.message.sent', sends],
  ['msgapp.message.receipt.sent', sends],
  ['msgapp.message.receipt.received', sends],
  ['msgapp.message.receipt.read', reads],
  ['msgapp.message.failed', (about) => sends({ ...about, handset: notOnMsgapp })],
  ['msgapp.conversation.new', begins],
  [
    'msgapp.call.received',
    async ({ parts, channel, handset }) => {
      await perform(parts, handset, 'msgapp-calls', { to: channel.number })
      return 'handset'
    },
  ],
  [
    'msgapp.call.made',
    async ({ parts, channel, handset }) => {
      await perform(parts, channel.number, 'phone-calls', { to: handset })
      return 'account'
    },
  ],
  ['msgapp.group.message.received', inGroup(true, 'msgapp', { text: helloBack })],
  ['msgapp.group.message.reaction', reactsInGroup],
  ['msgapp.group.join', inGroup(false, 'enter', {})],
  ['msgapp.group.leave', inGroup(true, 'leave', {})],
  ['msgapp.group.remove', inGroup(true, 'leave', { removed: true })],
])

/** Triggers an event on a connected sandbox channel. @returns null when the event cannot be triggered */
export const triggerChat = async (
  parts: Services,
  name: EventName,
  channel: Channel,
  groups: readonly string[],
): Promise<Origin | null> => {
  const deed = actions.get(name)
  if (!deed) return null
  const [handset, member] = await store.freeHandsets(parts.db, friends)
  if (handset === undefined || member === undefined) return null
  return deed({ parts, channel, groups, handset, member })
}
