import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP relay that does to connections what networks do. */
export type Relay = {
  readonly port: number
  /** When connections were made, by performance.now(). */
  readonly attempts: readonly number[]
  /** Where new connections go: a port of the loopback, or the path of a socket. */
  target(to: number | string): void
  /** Breaks all connections; new ones are reset until it is up again. */
  down(): void
  up(): void
  /** Connections stay open and nothing comes through, either way, until it is up again. */
  mute(): void
  /** Lets so many more octets through to the client, then breaks the connection in the middle of whatever comes. */
  cut(octets: number): void
}

type Leg = { readonly client: Socket; readonly carrier: Socket }

export const makeRelay = async (t: { after(end: () => void): void }, to: number | string): Promise<Relay> => {
  const legs = new Set<Leg>()
  const attempts: number[] = []
  let target = to
  let state: 'up' | 'down' | 'mute' = 'up'
  let left = Number.POSITIVE_INFINITY

  const end = (leg: Leg) => {
    legs.delete(leg)
    leg.client.resetAndDestroy()
    // A socket in a folder knows no reset.
    if (leg.carrier.remotePort === undefined) leg.carrier.destroy()
    else leg.carrier.resetAndDestroy()
  }
  /** What comes while it is mute waits: it is not lost while the connection stands. */
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
