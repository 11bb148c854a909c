import type { TestContext } from 'node:test'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import { component, type Prosody, password, secret, until } from '../../../test/prosody.ts'
import type {
  ChatChannel,
  ChatChannelState,
  ChatCredentialStore,
  ChatDeps,
  ChatEvents,
  ChatNetwork,
} from '../../ports/chat.ts'
import type { ChatCall, ChatFailure, ChatInbound, ChatOutgoing, ChatReceipt } from '../../ports/chat-message.ts'
import { xmppDriver } from './xmpp-driver.ts'

// Test doubles for the tools that a connector receives, with a record of its events.

/** A vault in memory that survives its networks. */
export const makeVault = (): ChatCredentialStore => {
  const stored = new Map<string, Buffer>()
  const key = (channel: string, type: string, id: string) => `${channel} ${type} ${id}`
  return {
    read: async (channel, type, ids) =>
      new Map(
        ids.flatMap((id) => {
          const value = stored.get(key(channel, type, id))
          return value ? [[id, value] as const] : []
        }),
      ),
    write: async (channel, entries) => {
      for (const { type, id, value } of entries) {
        if (value) stored.set(key(channel, type, id), value)
        else stored.delete(key(channel, type, id))
      }
    },
    forget: async (channel) => {
      for (const name of [...stored.keys()]) if (name.startsWith(`${channel} `)) stored.delete(name)
    },
  }
}

type Arguments<K extends keyof ChatEvents> = Parameters<ChatEvents[K]>[1]

/** Events of a network, in order. */
export type RecordedEvents = {
  readonly tools: ChatDeps
  readonly states: Map<string, ChatChannelState[]>
  readonly inbound: ChatInbound[]
  readonly receipts: ChatReceipt[]
  readonly failures: ChatFailure[]
  readonly calls: ChatCall[]
  readonly groups: Arguments<'group'>[]
  readonly edits: Arguments<'edited'>[]
  readonly reactions: Arguments<'reaction'>[]
  readonly log: string[]
  phase(channel: string): string | undefined
}

export const recordEvents = (
  vault: ChatCredentialStore = makeVault(),
  keep: () => Promise<void> = async () => {},
): RecordedEvents => {
  const states = new Map<string, ChatChannelState[]>()
  const log: string[] = []
  const into = <T>(list: T[]) => {
    const record = async (_: string, one: T) => {
      await keep()
      list.push(one)
    }
    return { list, record }
  }
  const [inbound, receipts, failures] = [into<ChatInbound>([]), into<ChatReceipt>([]), into<ChatFailure>([])]
  const [calls, groups] = [into<ChatCall>([]), into<Arguments<'group'>>([])]
  const [edits, reactions] = [into<Arguments<'edited'>>([]), into<Arguments<'reaction'>>([])]
  const events: ChatEvents = {
    line: (channel, state) => void states.set(channel, [...(states.get(channel) ?? []), state]),
    inbound: inbound.record,
    receipt: receipts.record,
    failure: failures.record,
    edited: edits.record,
    reaction: reactions.record,
    call: calls.record,
    group: groups.record,
    mapped: async () => {},
    renamed: async () => {},
  }
  return {
    tools: {
      events,
      credentials: vault,
      home: '',
      log: (event, details) => void log.push(`${event} ${JSON.stringify(details ?? {})}`),
    },
    states,
    inbound: inbound.list,
    receipts: receipts.list,
    failures: failures.list,
    calls: calls.list,
    groups: groups.list,
    edits: edits.list,
    reactions: reactions.list,
    log,
    phase: (channel) => states.get(channel)?.at(-1)?.phase,
  }
}

export const settingsFor = (
  mode: XmppSettings['mode'],
  { port, componentPort, ca }: Prosody,
  more: Partial<XmppSettings> = {},
): XmppSettings =>
  mode === 'client'
    ? { mode, host: '127.0.0.1', port, domain: 'localhost', password, tls_ca: ca, ...more }
    : { mode, host: '127.0.0.1', port: componentPort, domain: 'localhost', component, secret, ...more }

export const line = (number: string, fields: Partial<ChatChannel> = {}): ChatChannel => ({
  channel: `channel of ${number}`,
  number,
  name: `Shop ${number.slice(-2)}`,
  since: null,
  ...fields,
})

/** Starts a network with linked numbers; it is closed with the test. */
export const link = async (
  t: TestContext,
  settings: XmppSettings,
  seen: RecordedEvents,
  lines: readonly ChatChannel[],
): Promise<ChatNetwork> => {
  const network = (await xmppDriver.load()).start(settings, seen.tools)
  t.after(() => network.close())
  for (const one of lines) network.attach(one)
  for (const { channel } of lines) await until(`${channel} is linked`, () => seen.phase(channel) === 'connected')
  return network
}

export const outgoing = (id: string, text: string, number: string): ChatOutgoing => ({
  id,
  to: { number, remote: null },
  text,
  file: null,
  pin: null,
})

/** Sends to one number like the platform: retries with the same id until the network accepts. */
export const sendAll = async (network: ChatNetwork, channel: string, number: string, ids: readonly string[]) => {
  for (const id of ids) {
    await until(`${id} is sent`, async () => {
      const sent = await network.send(channel, outgoing(id, `text ${id}`, number))
      return sent.outcome === 'done'
    })
  }
}

/** Each text with its number of occurrences. */
export const countByText = (texts: readonly string[]): string[] =>
  [...Map.groupBy(texts, (text) => text)].map(([text, all]) => `${text} × ${all.length}`)
