import { after } from 'node:test'
import { idleConnection } from '../../../test/connection.ts'
import type { World } from '../../../test/world.ts'
import type { ChatNetwork } from '../../connectors/chat-port.ts'
import type { ChatInbound, ChatOutgoing, ChatSent } from '../../connectors/message-port.ts'
import type { Asked } from '../../connectors/port.ts'
import { startWorker } from '../../jobs/worker.ts'
import { uuid } from '../../lib/id.ts'
import { makeActs } from '../acts.ts'
import { type Intake, type Line, makeIntake } from '../intake.ts'
import { workOf } from '../work.ts'

let numbers = 0

/** A connected number of a tenant, and a network in this process that does what a test says. */
export type Chat = {
  readonly line: Line
  readonly intake: Intake
  /** What the network was given, in order. */
  readonly sent: ChatOutgoing[]
  /** What it answers; it takes everything unless told. */
  answer: (message: ChatOutgoing) => Promise<Asked<ChatSent>>
  readonly network: ChatNetwork
}

/** A message from somebody, with an id of its own. */
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
 * A line for an account, with the jobs of its connection running.
 * @param beside another line's connection, which runs already: then only that one's network is given anything
 */
export const makeChat = async (world: World, account: string, beside?: string): Promise<Chat> => {
  const { db, parts } = world
  const number = `+44770${String(1_000_000 + ++numbers)}`
  const line: Line = {
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
    prove: async () => true,
    send: (_channel, message) => {
      sent.push(message)
      return chat.answer(message)
    },
    state: () => ({ state: 'up', since: 0, lastError: null, inFlight: 0, submitted: 0 }),
    close: async () => {},
  }
  const chat: Chat = {
    line,
    intake: makeIntake(parts),
    sent,
    network,
    answer: async ({ id }) => ({ outcome: 'done', value: { id: `net-${id}`, at: Date.now() } }),
  }
  if (beside) return chat
  const kind = workOf({
    connection: line.connection,
    network,
    acts: makeActs(parts),
    isHeld: () => true,
    reach: () => 'connected',
    isSteady: () => true,
    hasRoom: () => true,
    isGone: async () => false,
  })
  const worker = startWorker({ db, kinds: [kind], log: parts.log })
  after(() => worker.stop())
  return chat
}

/** The events of an account, oldest first. */
export const eventsOf = async ({ db }: World, account: string, like = 'msgapp.%') =>
  await db.many<{ name: string; payload: { [field: string]: unknown } }>`
    select name, payload from events where account_id = ${account} and name like ${like} order by created_at, id`
