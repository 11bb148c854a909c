import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { maxPendingRequests } from '../limits.ts'
import { type Bencodable, type BencodeValue, decode, encode } from './bencode.ts'

/** A reply of rtpengine. */
export type NgReply = { readonly [key: string]: BencodeValue }

export type NgClient = {
  /** @throws Error if no answer comes, or with rtpengine's message if the answer is an error */
  request(command: string, rest: Readonly<Record<string, Bencodable>>): Promise<NgReply>
  close(): void
}

/** Timeouts in ms of the attempts over UDP; then the request fails. rtpengine answers repeated cookies from a cache. */
const timeoutsMs = [250, 500, 1_000]

type PendingRequest = {
  readonly resolve: (reply: NgReply) => void
  readonly reject: (error: Error) => void
  timer: NodeJS.Timeout
}

const isReply = (value: BencodeValue): value is NgReply => typeof value === 'object' && !Array.isArray(value)

/** rtpengine's control protocol: a cookie, a space, a dictionary (docs/ng_control_protocol in its sources). */
export const connectNg = async (address: string, port: number): Promise<NgClient> => {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  socket.connect(port, address)
  await once(socket, 'connect')
  const waiting = new Map<string, PendingRequest>()

  socket.on('message', (datagram) => {
    const space = datagram.indexOf(' ')
    const cookie = datagram.toString('latin1', 0, Math.max(0, space))
    const one = waiting.get(cookie)
    if (!one) return
    clearTimeout(one.timer)
    waiting.delete(cookie)
    try {
      const reply = decode(datagram.subarray(space + 1))
      if (!isReply(reply)) throw new Error('rtpengine: the reply is not a dictionary')
      if (reply.result === 'error') throw new Error(`rtpengine: ${reply['error-reason']}`)
      one.resolve(reply)
    } catch (error) {
      one.reject(error instanceof Error ? error : new Error(String(error)))
    }
  })
  // Connection refused: the daemon is not running. The request is retried until its timeout.
  socket.on('error', () => undefined)

  const ask = (command: string, rest: Readonly<Record<string, Bencodable>>) =>
    new Promise<NgReply>((resolve, reject) => {
      if (waiting.size >= maxPendingRequests) {
        reject(new Error(`rtpengine: more than ${maxPendingRequests} requests are pending`))
        return
      }
      const cookie = randomBytes(8).toString('hex')
      const datagram = Buffer.concat([Buffer.from(`${cookie} `), encode({ ...rest, command })])
      const send = (turn: number) => {
        const wait = timeoutsMs[turn]
        if (wait === undefined) {
          waiting.delete(cookie)
          reject(new Error(`rtpengine at ${address}:${port} does not answer`))
          return
        }
        socket.send(datagram, () => undefined)
        waiting.set(cookie, { resolve, reject, timer: setTimeout(() => send(turn + 1), wait) })
      }
      send(0)
    })

  return {
    request: ask,
    close: () => {
      for (const { timer, reject } of waiting.values()) {
        clearTimeout(timer)
        reject(new Error('the engine is closed'))
      }
      waiting.clear()
      socket.close()
    },
  }
}
