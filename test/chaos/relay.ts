import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP relay that simulates network faults. */
export type Relay = {
  readonly port: number
  /** Times at which connections were made, by performance.now(). */
  readonly attempts: readonly number[]
  /** The target of new connections: a loopback port, or the path of a socket. */
  target(to: number | string): void
  /** Breaks all connections; new ones are reset until `up` is called. */
  down(): void
  up(): void
  /** Connections stay open and nothing passes in either direction until `up` is called. */
  mute(): void
  /** Passes this number of octets more to the client, then breaks the connection. */
  cut(octets: number): void
}

type Leg = { readonly client: Socket; readonly carrier: Socket }

/**
 * Breaks a connection. Unix sockets have no reset. A socket that is shutting down refuses one (libuv: EINVAL), and Node
 * then never closes its handle: the process spins at its exit.
 */
const breakSocket = (socket: Socket): void => {
  if (socket.remotePort === undefined || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

export const makeRelay = async (t: { after(end: () => void): void }, to: number | string): Promise<Relay> => {
  const legs = new Set<Leg>()
  const attempts: number[] = []
  let target = to
  let state: 'up' | 'down' | 'mute' = 'up'
  let left = Number.POSITIVE_INFINITY

  const end = (leg: Leg) => {
    legs.delete(leg)
    breakSocket(leg.client)
    breakSocket(leg.carrier)
  }
  /** Data that arrives while the relay is mute waits. It is not lost while the connection lasts. */
  const pass = (leg: Leg, from: Socket, into: Socket) => {
    from.on('data', (chunk: Buffer) => {
      const isToClient = into === leg.client
      const allowed = isToClient ? chunk.subarray(0, left) : chunk
      into.write(allowed)
      if (!isToClient) return
      left -= allowed.length
      if (left > 0) return
      left = Number.POSITIVE_INFINITY
      end(leg)
    })
    from.on('end', () => into.end())
    from.on('error', () => end(leg))
    if (state === 'mute') from.pause()
  }

  const server = createServer((client) => {
    attempts.push(performance.now())
    if (state === 'down') {
      client.on('error', () => {})
      client.resetAndDestroy()
      return
    }
    const leg = { client, carrier: typeof target === 'string' ? connect(target) : connect(target, '127.0.0.1') }
    legs.add(leg)
    pass(leg, client, leg.carrier)
    pass(leg, leg.carrier, client)
    client.on('close', () => legs.delete(leg))
  })
  t.after(() => {
    server.close()
    for (const leg of legs) end(leg)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: address && typeof address === 'object' ? address.port : 0,
    attempts,
    target: (next) => {
      target = next
    },
    down: () => {
      state = 'down'
      for (const leg of legs) end(leg)
    },
    mute: () => {
      state = 'mute'
      for (const { client, carrier } of legs) for (const socket of [client, carrier]) socket.pause()
    },
    up: () => {
      state = 'up'
      for (const { client, carrier } of legs) for (const socket of [client, carrier]) socket.resume()
    },
    cut: (octets) => {
      left = octets
    },
  }
}
