import { randomBytes } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'
import { type Bencoded, decode, encode } from '../codec/bencode.ts'

/** What rtpengine said. */
export type Reply = { readonly [key: string]: Bencoded }

export type Ng = {
  /** @throws Error when no answer comes, or the answer is an error: its message is rtpengine's */
  ask(command: string, rest: Readonly<Record<string, Bencoded>>): Promise<Reply>
  close(): void
}

/** UDP: it is asked again after so many milliseconds, and given up after the last. rtpengine answers a repeated cookie from memory. */
const waits = [250, 500, 1_000]
const maxWaiting = 10_000

type Waiting = {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
  timer: NodeJS.Timeout
}

const isReply = (value: Bencoded): value is Reply => typeof value === 'object' && !Array.isArray(value)

/** rtpengine's control protocol: a cookie, a space, a dictionary (docs/ng_control_protocol in its sources). */
export const connectNg = async (address: string, port: number): Promise<Ng> => {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  socket.connect(port, address)
  await once(socket, 'connect')
  const waiting = new Map<string, Waiting>()

  socket.on('message', (datagram) => {
    const space = datagram.indexOf(' ')
    const cookie = datagram.toString('latin1', 0, Math.max(0, space))
    const one = waiting.get(cookie)
    if (!one) return
    clearTimeout(one.timer)
    waiting.delete(cookie)
    try {
      const reply = decode(datagram.subarray(space + 1))
      if (!isReply(reply)) throw new Error('rtpengine answered something else than a dictionary')
      if (reply.result === 'error') throw new Error(`rtpengine: ${reply['error-reason']}`)
      one.resolve(reply)
    } catch (error) {
      one.reject(error instanceof Error ? error : new Error(String(error)))
    }
  })
  // Refused: the daemon is not there. The request is sent again, and given up in its time.
  socket.on('error', () => undefined)

  const ask = (command: string, rest: Readonly<Record<string, Bencoded>>) =>
    new Promise<Reply>((resolve, reject) => {
      if (waiting.size >= maxWaiting) {
        reject(new Error('rtpengine is behind with its answers'))
        return
      }
      const cookie = randomBytes(8).toString('hex')
      const datagram = Buffer.concat([Buffer.from(`${cookie} `), encode({ ...rest, command })])
      const send = (turn: number) => {
        const wait = waits[turn]
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
    ask,
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
