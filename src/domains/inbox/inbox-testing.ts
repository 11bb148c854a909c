import { after } from 'node:test'
import type { Tenant, World } from '../../../test/world.ts'
import type { Tx } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'
import { receive } from '../sms/inbound/inbound-receiver.ts'
import { publishEvents } from '../sms/message-presenter.ts'
import type { EventRow } from '../sms/store.ts'
import { type Projector, startProjector } from './projector/projector.ts'

let numbers = 0

/** A conversation as the API returns it. */
export type ShownConversation = { uuid: string; counterpart: string; [field: string]: unknown }

/** Runs the projector over a world, and plays the parts of handsets and carriers. */
export const makeInbox = (world: World) => {
  const { db, parts, call } = world
  let projector: Projector | null = null
  const start = () => {
    projector = startProjector({ db, log: parts.log })
  }
  const stop = async () => {
    await projector?.stop()
    projector = null
  }
  after(stop)
  start()

  /** Gives an account a British number with SMS, as a purchase would. */
  const giveNumber = async ({ id: account }: Pick<Tenant, 'id'>) => {
    const number = `+4477002${String(10_000 + numbers++)}`
    const [did, channel] = [uuid(), uuid()]
    await db.run`
      insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
        monthly_price, ppm, status_text, expires_at)
      values (${account}, ${did}, ${number}, 'g', 'GB', '', 'mobile', 'n', 1, 0, 'ACTIVE', 'infinity')`
    await db.run`
      insert into sms_channels (account_id, id, virtual_number_id, phone_number, friendly_name, iso_country_code,
        supports_sms_in, supports_sms_out)
      values (${account}, ${channel}, ${did}, ${number}, 'n', 'GB', true, true)`
    return { number, channel, did }
  }

  const writeWithin = (tx: Tx, from: string, to: string, ...texts: readonly string[]) =>
    receive(
      tx,
      texts.map((text) => ({ connection: uuid(), source: from, destination: to, text, isIncomplete: false })),
      { ...parts, stray: () => {} },
    )

  return {
    start,
    stop,
    giveNumber,
    /** A handset writes texts, which arrive in the transaction of the caller. */
    writeWithin,
    /** A handset writes texts, which arrive in one transaction. */
    write: (from: string, to: string, ...texts: readonly string[]) =>
      db.begin((tx) => writeWithin(tx, from, to, ...texts)),
    /** The API sent a text, which a carrier accepted. */
    apiSends: async (
      { id: account }: Pick<Tenant, 'id'>,
      { number, channel }: { number: string; channel: string },
      to: string,
      text: string,
    ) => {
      const id = uuid()
      await db.begin(async (tx) => {
        const row = await tx.one<EventRow>`
          insert into sms_messages (account_id, id, channel_id, direction, contact, number, text, encoding, fragments,
            status, created_at, updated_at)
          values (${account}, ${id}, ${channel}, 'outbound', ${to}, ${number}, ${text}, 'gsm7', 1, 'sent', app_now(),
            app_now())
          returning *`
        await publishEvents(tx, [row])
      })
      return id
    },
    conversations: async (who: Tenant, query = ''): Promise<ShownConversation[]> =>
      (await call(who, 'GET', `/open/conversations${query}`)).body.conversations,
    items: async (who: Tenant, conversation: string, query = '') =>
      (await call(who, 'GET', `/open/conversations/${conversation}/items${query}`)).body,
    /** Names of the events of conversations, in order. */
    events: async ({ id }: Pick<Tenant, 'id'>): Promise<string[]> =>
      (
        await db.many<{ name: string }>`
          select name from events where account_id = ${id} and name like 'conversation.%' order by id`
      ).map(({ name }) => name),
  }
}
