import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type BindPdu, noTlvs, type Pdu, type ShortMessagePdu } from '@trunkline/smpp/pdu.ts'
import { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import type {
  SmsCarrier,
  SmsEvents,
  SmsInbound,
  SmsIntake,
  SmsPart,
  SmsReceipt,
  UnparsedReceipt,
} from '../../ports/sms.ts'
import { connectSmpp } from './smpp-carrier.ts'
import type { SmppSettings } from './smpp-settings.ts'

export const makePart = (fields: Partial<SmsPart> = {}): SmsPart => ({
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

/** Accepts everything that a carrier delivers, and keeps nothing. */
export const ignoreIntake: SmsIntake = {
  inbound: async () => {},
  receipt: async () => {},
  receiptIfSent: async () => false,
  unparsed: async () => {},
}

/** `until` resolves once the condition holds, checked at every change that the carrier reports. */
export type EventWatch = {
  events: SmsEvents
  until(condition: () => boolean): Promise<void>
  inbound: SmsInbound[]
  receipts: SmsReceipt[]
  /** Ids of sent parts: `receiptIfSent` accepts their receipts. */
  sent: Set<string>
  unparsed: UnparsedReceipt[]
}

export const watchEvents = (persist: () => Promise<void> = async () => {}): EventWatch => {
  const waiting = new Set<() => void>()
  const changed = () => {
    for (const check of waiting) check()
  }
  const inbound: SmsInbound[] = []
  const receipts: SmsReceipt[] = []
  const unparsed: UnparsedReceipt[] = []
  const sent = new Set<string>()
  return {
    inbound,
    receipts,
    sent,
    unparsed,
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
        await persist()
        inbound.push(message)
        changed()
      },
      receipt: async (receipt) => {
        await persist()
        receipts.push(receipt)
        changed()
      },
      receiptIfSent: async (receipt) => {
        await persist()
        if (!sent.has(receipt.carrierId)) return false
        receipts.push(receipt)
        changed()
        return true
      },
      unparsed: async (receipt) => {
        await persist()
        unparsed.push(receipt)
        changed()
      },
    },
  }
}

/** Turns the event loop until the condition holds. */
export const turnUntil = async (condition: () => boolean): Promise<void> => {
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

export const makeSettings = (port: number, fields: Partial<SmppSettings> = {}): SmppSettings => ({
  host: '127.0.0.1',
  port,
  system_id: 'us',
  password: 'secret',
  ...fields,
})

export const connectAndBind = async (
  t: TestContext,
  port: number,
  seen: EventWatch,
  fields: Partial<SmppSettings> = {},
): Promise<SmsCarrier> => {
  const carrier = connectSmpp(makeSettings(port, fields), seen.events)
  t.after(() => carrier.close())
  await seen.until(() => carrier.state().state === 'up')
  return carrier
}

export const isBind = (pdu: Pdu): pdu is BindPdu =>
  pdu.command === 'bind_transceiver' || pdu.command === 'bind_transmitter' || pdu.command === 'bind_receiver'

/**
 * A carrier made of our own link, which handles requests as the test says. Binds are accepted unless `statusOf` returns
 * a refusing status.
 */
export const makeCarrierServer = (
  onRequest: (link: SmppLink, pdu: Pdu) => void,
  links: SmppLink[] = [],
  statusOf: (bind: BindPdu) => number = () => 0,
): Server =>
  createServer((socket) => {
    const link: SmppLink = new SmppLink(
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

export const acceptSubmit = (link: SmppLink, { sequence }: Pdu, messageId: string): void =>
  link.send({ command: 'submit_sm_resp', sequence, status: 0, messageId, tlvs: noTlvs })

export const makeDelivery = (sequence: number): ShortMessagePdu => ({
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
