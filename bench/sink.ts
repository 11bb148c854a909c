import { createServer } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net'

/**
 * An SMSC that accepts everything at once, and a callback receiver, in one separate process. Parses PDUs by hand (SMPP
 * 3.4, parts 3.2 and 4) to leave as much CPU time as possible to the measured gateways.
 *
 * The parent sends `{ reset: { receipts } }` before a round and `{ report: { arrivals } }` to request a report.
 */

const commands = { genericNack: 0x80000000, submit: 4, deliver: 5, unbind: 6, enquire: 0x15 }
const response = 0x80000000

/** Returns nanoseconds of the clock that all processes of the machine share. */
const now = () => process.hrtime.bigint()

/** Arrival time of each message, by the last eight digits of its destination. */
let arrivals = new Map<number, bigint>()
let receipts = false
let called = 0
let lastCall = 0n

/** Maximum number of unacknowledged receipts. */
const window = 100
let written = 0
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
  return pdu(commands.deliver, ++written, body)
}

/** Returns the addresses of a submit_sm with their terminating zero octets. */
const addresses = (body: Buffer): [source: Buffer, destination: Buffer] => {
  const source = body.indexOf(0) + 3
  const sourceEnd = body.indexOf(0, source) + 1
  const destination = sourceEnd + 2
  return [body.subarray(source, sourceEnd), body.subarray(destination, body.indexOf(0, destination) + 1)]
}

const handleConnection = (socket: Socket) => {
  socket.setNoDelay(true)
  let rest: Buffer = Buffer.alloc(0)
  let unanswered = 0
  const waiting: Buffer[] = []
  const out: Buffer[] = []

  const pump = () => {
    while (unanswered < window) {
      const next = waiting.shift()
      if (!next) break
      unanswered++
      out.push(next)
    }
  }

  const handlePdu = (command: number, sequence: number, body: Buffer) => {
    if (command === commands.submit) {
      const id = ++lastId
      out.push(pdu(command + response, sequence, cString(String(id))))
      const [source, destination] = addresses(body)
      arrivals.set(Number(destination.toString('latin1', destination.length - 9, destination.length - 1)), now())
      if (receipts) waiting.push(receiptOf(id, source, destination))
    } else if (command === commands.deliver + response) unanswered--
    else if (command < response) {
      const isBind = command === 1 || command === 2 || command === 9
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
  request.resume()
  request.on('end', () => {
    called++
    lastCall = now()
    reply.end('ok')
  })
}).listen(0, '127.0.0.1')

const portOf = (server: { address(): AddressInfo | string | null }) => (server.address() as AddressInfo).port // TCP

export type Command = { reset?: { receipts: boolean }; report?: { arrivals: boolean } }
export type Report = {
  arrived: number
  called: number
  lastCall: string
  /** Number and arrival time in nanoseconds, if requested. */
  arrivals?: [number, string][]
}

process.on('message', ({ reset, report }: Command) => {
  if (reset) {
    arrivals = new Map()
    receipts = reset.receipts
    called = 0
  }
  const full = report?.arrivals ? { arrivals: [...arrivals].map(([n, at]) => [n, String(at)]) } : {}
  process.send?.({ arrived: arrivals.size, called, lastCall: String(lastCall), ...full })
})
process.on('disconnect', () => process.exit())

callbacks.once('listening', () => process.send?.({ smsc: portOf(smsc), callbacks: portOf(callbacks) }))
