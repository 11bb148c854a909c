import { createServer } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net'

/**
 * An SMSC that accepts everything at once, and a callback receiver, in one separate process. Parses PDUs by hand (SMPP
 * 3.4, parts 3.2 and 4) to leave as much CPU time as possible to the measured gateways.
 *
 * The parent sends `{ reset: { receipts } }` before a round, `{ inbound }` for texts of handsets at a steady rate, and
 * `{ report: { arrivals } }` to request a report.
 */

const commands = { genericNack: 0x80000000, submit: 4, deliver: 5, unbind: 6, enquire: 0x15 }
const response = 0x80000000

/** Returns nanoseconds of the clock that all processes of the machine share. */
const now = () => process.hrtime.bigint()

/** Times of each message, by the last eight digits of the handset's number. */
let arrivals = new Map<number, bigint>()
let written = new Map<number, bigint>()
let calls = new Map<number, bigint>()
let receipts = false
let called = 0
let lastCall = 0n

/** Maximum number of unacknowledged receipts. */
const window = 100
let sequence = 0
let lastId = 0

const cString = (text: string) => Buffer.from(`${text}\0`, 'latin1')

const pdu = (command: number, sequence: number, body: Buffer): Buffer => {
  const header = Buffer.alloc(16)
  header.writeUInt32BE(16 + body.length, 0)
  header.writeUInt32BE(command, 4)
  header.writeUInt32BE(sequence, 12)
  return Buffer.concat([header, body])
}

/** Returns a deliver_sm with a receipt in its short_message (appendix B): esm_class 4. */
const receiptOf = (id: number, source: Buffer, destination: Buffer): Buffer => {
  const text = `id:${id} sub:001 dlvrd:001 submit date:2611210000 done date:2611210000 stat:DELIVRD err:000 text:`
  const body = Buffer.concat([
    Buffer.from([0, 1, 1]),
    destination,
    Buffer.from([1, 1]),
    source,
    Buffer.from([4, 0, 0, 0, 0, 0, 0, 0, 0, text.length]),
    Buffer.from(text, 'latin1'),
  ])
  return pdu(commands.deliver, ++sequence, body)
}

const textBody = Buffer.from('A message of sixty characters, as people would write one now', 'latin1')

/** Returns a deliver_sm with a text of a handset. */
const textOf = (source: Buffer, destination: Buffer): Buffer =>
  pdu(
    commands.deliver,
    ++sequence,
    Buffer.concat([
      Buffer.from([0, 1, 1]),
      source,
      Buffer.from([1, 1]),
      destination,
      Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, textBody.length]),
      textBody,
    ]),
  )

/** Returns the last eight digits of an address with its terminating zero octet. */
const keyOf = (address: Buffer): number => Number(address.toString('latin1', address.length - 9, address.length - 1))

/** Returns the addresses of a submit_sm with their terminating zero octets. */
const addresses = (body: Buffer): [source: Buffer, destination: Buffer] => {
  const source = body.indexOf(0) + 3
  const sourceEnd = body.indexOf(0, source) + 1
  const destination = sourceEnd + 2
  return [body.subarray(source, sourceEnd), body.subarray(destination, body.indexOf(0, destination) + 1)]
}

let bound: Socket | null = null

const handleConnection = (socket: Socket) => {
  socket.setNoDelay(true)
  let rest: Buffer = Buffer.alloc(0)
  let unanswered = 0
  const waiting: { key: number; pdu: Buffer }[] = []
  const out: Buffer[] = []

  const pump = () => {
    while (unanswered < window) {
      const next = waiting.shift()
      if (!next) break
      unanswered++
      written.set(next.key, now())
      out.push(next.pdu)
    }
  }

  const handlePdu = (command: number, sequence: number, body: Buffer) => {
    if (command === commands.submit) {
      const id = ++lastId
      out.push(pdu(command + response, sequence, cString(String(id))))
      const [source, destination] = addresses(body)
      const key = keyOf(destination)
      arrivals.set(key, now())
      if (receipts) waiting.push({ key, pdu: receiptOf(id, source, destination) })
    } else if (command === commands.deliver + response) unanswered = Math.max(0, unanswered - 1)
    else if (command < response) {
      const isBind = command === 1 || command === 2 || command === 9
      if (isBind) bound = socket
      out.push(pdu(command + response, sequence, isBind ? cString('sink') : Buffer.alloc(0)))
    }
  }

  socket.on('data', (data: Buffer) => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data])
    let at = 0
    while (rest.length - at >= 16) {
      const length = rest.readUInt32BE(at)
      if (rest.length - at < length) break
      handlePdu(rest.readUInt32BE(at + 4), rest.readUInt32BE(at + 12), rest.subarray(at + 16, at + length))
      at += length
    }
    rest = rest.subarray(at)
    pump()
    if (out.length > 0) socket.write(Buffer.concat(out.splice(0)))
  })
  socket.on('error', () => {})
}

const smsc = createNetServer(handleConnection).listen(0, '127.0.0.1')
const callbacks = createServer((request, reply) => {
  let text = request.url ?? ''
  request.setEncoding('latin1').on('data', (part: string) => {
    text += part
  })
  request.on('end', () => {
    called++
    lastCall = now()
    // Handsets are +4477[1-9]…, and the number of the account is none of them.
    const handset = /4477([1-9]\d{7})/.exec(text)?.[1]
    if (handset) calls.set(Number(handset), lastCall)
    reply.end('ok')
  })
}).listen(0, '127.0.0.1')

const portOf = (server: { address(): AddressInfo | string | null }) => (server.address() as AddressInfo).port // TCP

export type Command = {
  reset?: { receipts: boolean }
  /** Texts of handsets to a number: `count` at `perSecond`, from the handset with the eight digits `first` on. */
  inbound?: { to: string; first: number; count: number; perSecond: number }
  report?: { arrivals: boolean }
}
type Times = [number, string][]
export type Report = {
  arrived: number
  called: number
  lastCall: string
  /** Last eight digits of handsets and times in nanoseconds, if requested: of submit_sm, of deliver_sm, of callbacks. */
  arrivals?: Times
  written?: Times
  calls?: Times
}

const timesOf = (times: ReadonlyMap<number, bigint>): Times => [...times].map(([key, at]) => [key, String(at)])

const sendTexts = async ({ to, first, count, perSecond }: NonNullable<Command['inbound']>): Promise<void> => {
  const began = performance.now()
  for (let n = 0; n < count; n++) {
    const wait = began + (n * 1_000) / perSecond - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const key = first + n
    written.set(key, now())
    bound?.write(textOf(cString(`44${7_700_000_000 + key}`), cString(to)))
  }
}

process.on('message', async ({ reset, inbound, report }: Command) => {
  if (reset) {
    arrivals = new Map()
    written = new Map()
    calls = new Map()
    receipts = reset.receipts
    called = 0
  }
  if (inbound) await sendTexts(inbound)
  const full = report?.arrivals ? { arrivals: timesOf(arrivals), written: timesOf(written), calls: timesOf(calls) } : {}
  process.send?.({ arrived: arrivals.size, called, lastCall: String(lastCall), ...full })
})
process.on('disconnect', () => process.exit())

callbacks.once('listening', () => process.send?.({ smsc: portOf(smsc), callbacks: portOf(callbacks) }))
