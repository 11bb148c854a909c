import { ok, serveOutside } from '../http/endpoint.ts'
import { uuid } from '../lib/id.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { exampleOf } from './examples.ts'
import { record } from './ops.ts'
import * as store from './store.ts'

const handset = '+447700900123'

export const eventRoutes = ({ db, clock, simulator }: Parts) => [
  serveOutside(c.triggerEvent, async ({ account, params }) => {
    const name = params.event_name
    const channel = name.startsWith('sms.') ? await store.smsChannel(db, account.id) : null
    if (channel && name === 'sms.message.received') {
      await simulator.send(handset, channel.phone_number, 'Hello from a handset of the sandbox')
      return ok({ event_name: name, via: 'handset' as const })
    }
    const example = exampleOf(name, uuid(), clock.now())
    const own = channel ? { channel_uuid: `SMS${channel.id}` } : {}
    const payload = { ...example, ...own, test: true }
    await db.begin((tx) =>
      record(tx, [{ account: account.id, name, channel: channel?.id ?? null, conversation: null, payload }]),
    )
    return ok({ event_name: name, via: 'example' as const })
  }),
]
