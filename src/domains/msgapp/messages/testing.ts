import { after } from 'node:test'
import { idleConnection } from '../../../../test/connection.ts'
import type { World } from '../../../../test/world.ts'
import { startWorker } from '../../../platform/jobs/consume/worker.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { ChatNetwork } from '../../../ports/chat.ts'
import type { ChatInbound, ChatOutgoing, ChatSendResult } from '../../../ports/chat-message.ts'
import type { ServiceResult } from '../../../ports/supplier.ts'
import { makeInboundHandlers } from '../inbound.ts'
import type { ChannelRef, InboundHandlers } from '../inbound-handlers.ts'
import { operationKind } from '../operations/operation-worker.ts'
import { makeOperations } from '../operations/operations.ts'

let numbers = 0

/** A connected number of a tenant, on an in-process network that a test controls. */
export type ChatHarness = {
  readonly line: ChannelRef
  readonly intake: InboundHandlers
  /** Messages given to the network, in order. */
  readonly sent: ChatOutgoing[]
  /** The network's answer. Default: accepts everything. */
  answer: (message: ChatOutgoing) => Promise<ServiceResult<ChatSendResult>>
  readonly network: ChatNetwork
}

/** An inbound message with an id of its own. */
export const inbound = (more: Partial<ChatInbound> & { number?: string | null } = {}): ChatInbound => {
  const { number = '+447700900123', ...rest } = more
  return {
    id: uuid(),
    from: { number, remote: number === null ? '77@lid' : `${number.slice(1)}@c.us`, pushname: 'Ada' },
    group: null,
    at: Date.now(),
    text: 'Hello back',
    media: null,
    pin: null,
    own: false,
    ...rest,
  }
}

/**
 * Creates a channel for an account, and runs the jobs of its connection.
 * @param beside channel whose running connection is used instead: its network then gets all requests
 */
export const makeChatHarness = async (world: World, account: string, beside?: string): Promise<ChatHarness> => {
  const { db, parts } = world
  const number = `+44770${String(1_000_000 + ++numbers)}`
  const line: ChannelRef = {
    account,
    channel: uuid(),
    connection: beside ?? (await idleConnection(db)),
    platform: 'sandbox',
    number,
  }
  await db.run`
    insert into msgapp_channels (account_id, id, connection_id, platform, phone_number, friendly_name, iso_country_code, timezone,
      created_at, updated_at)
    values (${account}, ${line.channel}, ${line.connection}, 'sandbox', ${number}, 'Test', 'GB', 'UTC', now(), now())`
  await db.run`
    insert into msgapp_links (account_id, channel_id, phase, reason, since, proved_at)
    values (${account}, ${line.channel}, 'connected', 'test', now(), now() + interval '1 day')`
  const sent: ChatOutgoing[] = []
  const network: ChatNetwork = {
    attach: () => {},
    detach: async () => {},
    ping: async () => true,
    send: (_channel, message) => {
      sent.push(message)
      return chat.answer(message)
    },
    state: () => ({ state: 'up', since: 0, lastError: null, inFlight: 0, submitted: 0 }),
    close: async () => {},
  }
  const chat: ChatHarness = {
    line,
    intake: makeInboundHandlers(parts),
    sent,
    network,
    answer: async ({ id }) => ({ outcome: 'done', value: { id: `net-${id}`, at: Date.now() } }),
  }
  if (beside) return chat
  const kind = operationKind({
    connection: line.connection,
    network,
    acts: makeOperations(parts),
    isHeld: () => true,
    reach: () => 'connected',
    isSteady: () => true,
    hasCapacity: () => true,
    isDeleted: async () => false,
  })
  const worker = startWorker({ db, kinds: [kind], log: parts.log })
  after(() => worker.stop())
  return chat
}

/** Events of an account, oldest first. */
export const eventsOf = async ({ db }: World, account: string, like = 'msgapp.%') =>
  await db.many<{ name: string; payload: { [field: string]: unknown } }>`
    select name, payload from events where account_id = ${account} and name like ${like} order by created_at, id`
