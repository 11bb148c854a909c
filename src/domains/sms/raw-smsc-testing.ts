import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** A carrier of raw octets: it shares no code with ours, and sends exactly the fields of a test. */
export type RawSmsc = {
  readonly port: number
  /** Message id of the next responses. */
  messageId: string
  /** Body and status of the next responses to submits; null: accepts with `messageId`. */
  refusal: { readonly status: number; readonly body: Buffer } | null
  /** Delivers a message. @returns the status of the response */
  deliver(message: RawMessage): Promise<number>
  close(): void
}

export type RawMessage = {
  readonly from: string
  readonly to: string
  /** Type of number and numbering plan of both addresses. Default: 1 and 1. */
  readonly ton?: number
  readonly npi?: number
  readonly esmClass?: number
  readonly dataCoding?: number
  readonly octets: Buffer
  /** Optional parameters, in hexadecimal as on the wire. */
  readonly parameters?: string
}

const bindTransceiver = 0x09
const submit = 0x04
const deliver = 0x05
const response = 0x80000000

const pdu = (command: number, status: number, sequence: number, body: Buffer): Buffer => {
  const header = Buffer.alloc(16)
  for (const [i, word] of [16 + body.length, command, status, sequence].entries()) header.writeUInt32BE(word, 4 * i)
  return Buffer.concat([header, body])
}

const bodyOf = ({ from, to, ton = 1, npi = 1, esmClass = 0, dataCoding = 0, octets, parameters = '' }: RawMessage) => {
  const address = (digits: string) => [Buffer.from([ton, npi]), Buffer.from(`${digits}\0`)]
  return Buffer.concat([
    Buffer.from('\0'),
    ...address(from),
    ...address(to),
    // esm_class, protocol_id, priority; two empty times; registered_delivery, replace; data_coding, sm_default, length.
    Buffer.from([esmClass, 0, 0, 0, 0, 0, 0, dataCoding, 0, octets.length]),
    octets,
    Buffer.from(parameters.replaceAll(' ', ''), 'hex'),
  ])
}

export const startRawSmsc = async (): Promise<RawSmsc> => {
  const sockets = new Set<Socket>()
  const waiting = new Map<number, (status: number) => void>()
  let sequence = 0
  const server = createServer((socket) => {
    let rest = Buffer.alloc(0)
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      while (rest.length >= 16 && rest.length >= rest.readUInt32BE(0)) {
        const frame = rest.subarray(0, rest.readUInt32BE(0))
        rest = rest.subarray(frame.length)
        const [command, status, number] = [4, 8, 12].map((at) => frame.readUInt32BE(at))
        if (command === undefined || status === undefined || number === undefined) return
        if (command >= response) waiting.get(number)?.(status)
        else if (command === bindTransceiver) socket.write(pdu(command + response, 0, number, Buffer.from('sc\0')))
        else if (command !== submit) socket.write(pdu(command + response, 0, number, Buffer.alloc(0)))
        else if (smsc.refusal) socket.write(pdu(command + response, smsc.refusal.status, number, smsc.refusal.body))
        else socket.write(pdu(command + response, 0, number, Buffer.from(`${smsc.messageId}\0`)))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const smsc: RawSmsc = {
    port: typeof address === 'object' && address ? address.port : 0,
    messageId: '1',
    refusal: null,
    deliver: (message) =>
      new Promise((resolve) => {
        waiting.set(++sequence, resolve)
        for (const socket of [...sockets].slice(-1)) socket.write(pdu(deliver, 0, sequence, bodyOf(message)))
      }),
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return smsc
}
