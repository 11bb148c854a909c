import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { SmsCarrier, SmsEvents, SmsInbound, SmsPart, SmsReceipt } from '../port.ts'
import { connectSmpp } from './carrier.ts'
import { Link } from './codec/link.ts'
import { type Bind, type Message, noTlvs, type Pdu } from './codec/pdu.ts'
import type { SmppSettings } from './settings.ts'

export const part = (fields: Partial<SmsPart> = {}): SmsPart => ({
  message: 'm',
  part: 1,
  parts: 1,
  source: '+447911123456',
  destination: '+33612345678',
  text: 'Hello',
  encoding: 'gsm7',
  reference: 9,
  ...fields,
})

/** Resolves once the condition holds; asked again at every change that the carrier tells. */
export type Watch = {
  events: SmsEvents
  until(condition: () => boolean): Promise<void>
  inbound: SmsInbound[]
  receipts: SmsReceipt[]
}

export const watch = (keep: () => Promise<void> = async () => {}): Watch => {
  const waiting = new Set<() => void>()
  const changed = () => {
    for (const look of waiting) look()
  }
  const inbound: SmsInbound[] = []
  const receipts: SmsReceipt[] = []
  return {
    inbound,
    receipts,
    until: (condition) =>
      new Promise((resolve) => {
        const look = () => {
          if (!condition()) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    events: {
      changed,
      inbound: async (message) => {
        await keep()
        inbound.push(message)
        changed()
      },
      receipt: async (receipt) => {
        await keep()
        receipts.push(receipt)
        changed()
      },
    },
  }
}

/** Lets the event loop turn until the condition holds. */
export const turn = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await setImmediate()
}

export const listen = async (t: TestContext, server: Server): Promise<number> => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return address.port
}

export const settings = (port: number, fields: Partial<SmppSettings> = {}): SmppSettings => ({
  host: '127.0.0.1',
  port,
  system_id: 'us',
  password: 'secret',
  ...fields,
})

export const connect = async (
  t: TestContext,
  port: number,
  seen: Watch,
  fields: Partial<SmppSettings> = {},
): Promise<SmsCarrier> => {
  const carrier = connectSmpp(settings(port, fields), seen.events)
  t.after(() => carrier.close())
  await seen.until(() => carrier.state().state === 'bound')
  return carrier
}

export const isBind = (pdu: Pdu): pdu is Bind =>
  pdu.command === 'bind_transceiver' || pdu.command === 'bind_transmitter' || pdu.command === 'bind_receiver'

/** A carrier made of our own link, that does with each request what the test says. Binds are accepted, unless `statusOf`
 *  has a status that refuses them. */
export const carrierSide = (
  onRequest: (link: Link, pdu: Pdu) => void,
  links: Link[] = [],
  statusOf: (bind: Bind) => number = () => 0,
): Server =>
  createServer((socket) => {
    const link: Link = new Link(
      socket,
      { responseMs: 10_000, enquireMs: 30_000 },
      {
        malformed: () => {},
        write: () => {},
        closed: () => {},
        request: (pdu) => {
          if (!isBind(pdu)) return onRequest(link, pdu)
          const { sequence } = pdu
          const status = statusOf(pdu)
          if (status === 0) links.push(link)
          link.send({ command: `${pdu.command}_resp`, sequence, status, systemId: 'sc', tlvs: noTlvs })
        },
      },
    )
  })

export const accept = (link: Link, { sequence }: Pdu, messageId: string): void =>
  link.send({ command: 'submit_sm_resp', sequence, status: 0, messageId, tlvs: noTlvs })

export const delivery = (sequence: number): Message => ({
  command: 'deliver_sm',
  sequence,
  status: 0,
  serviceType: '',
  source: { ton: 1, npi: 1, address: '33612345678' },
  destination: { ton: 1, npi: 1, address: '447911123456' },
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  schedule: '',
  validity: '',
  registered: 0,
  replaceIfPresent: 0,
  dataCoding: 0,
  defaultMessageId: 0,
  shortMessage: Buffer.from('Hi'),
  tlvs: noTlvs,
})
