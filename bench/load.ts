import { connect, type Socket } from 'node:net'

export type Load = {
  /** Number of answered requests. */
  count: number
  seconds: number
  /** Number of responses by status. */
  statuses: Map<number, number>
  /** Milliseconds from writing a request to the end of its response. */
  p50: number
  p99: number
}

/** Runs a keep-alive connection that sends the next request as soon as the last is answered. */
const runConnection = (
  port: number,
  next: () => Buffer,
  answered: (status: number, ms: number) => boolean,
): Promise<void> =>
  new Promise((resolve, reject) => {
    let began = 0
    let status = 0
    const take = (length: number, data: Uint8Array): boolean => {
      // Responses are small: a chunk begins with the status line, and a chunk that does not end with the headers ends
      // the body. Exact parsing would use CPU time of the measured cores.
      if (status === 0) status = (data[9] ?? 0) * 100 + (data[10] ?? 0) * 10 + (data[11] ?? 0) - 5328
      if (data[length - 1] === 0x0a) return true
      const answer = status
      status = 0
      if (answered(answer, performance.now() - began)) send()
      else socket.end(resolve)
      return true
    }
    // One buffer for all responses of a connection, without a stream of chunks.
    const onread = { buffer: Buffer.allocUnsafe(4096), callback: take }
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true, onread })
    const send = () => {
      began = performance.now()
      socket.write(next())
    }
    socket.on('connect', send)
    socket.on('error', reject)
  })

/** Runs closed-loop load over `connections` keep-alive connections for `seconds` seconds. */
export const load = async (port: number, connections: number, seconds: number, next: () => Buffer): Promise<Load> => {
  const statuses = new Map<number, number>()
  const times: number[] = []
  const began = performance.now()
  const end = began + seconds * 1000
  const answered = (status: number, ms: number) => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    times.push(ms)
    return performance.now() < end
  }
  await Promise.all(Array.from({ length: connections }, () => runConnection(port, next, answered)))
  const took = (performance.now() - began) / 1000
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  return { count: times.length, seconds: took, statuses, p50: at(0.5), p99: at(0.99) }
}

/** Returns the bytes of a POST request. */
export const post = (path: string, headers: Record<string, string>, body: string, type = 'application/json'): Buffer =>
  Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${Object.entries(
      headers,
    )
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n${body}`,
  )

/**
 * Runs open-loop load: `perSecond` requests a second for `seconds` seconds, each on a free connection, at a fixed rate
 * however slow the responses are. At slow rates there are fewer connections, since a server closes those without requests.
 * @throws Error when the server closes a connection
 * @returns the time of the successful response of the n-th request, nanoseconds of the machine's clock
 */
export const paced = async (
  port: number,
  connections: number,
  perSecond: number,
  seconds: number,
  request: (n: number) => Buffer,
): Promise<Map<number, bigint>> => {
  const answered = new Map<number, bigint>()
  const total = perSecond * seconds
  const began = performance.now()
  let n = 0
  const worker = async () => {
    const socket: Socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    while (n < total) {
      const mine = n++
      const wait = began + (mine * 1000) / perSecond - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      await new Promise<void>((resolve, reject) => {
        const take = (data: Buffer) => {
          if (data[9] === 0x32) answered.set(mine, process.hrtime.bigint())
          if (data[data.length - 1] === 0x0a) return
          socket.off('data', take).off('error', reject).off('end', closed)
          resolve()
        }
        const closed = () => reject(new Error('the server closed a connection before its response'))
        socket.on('data', take).on('error', reject).on('end', closed)
        socket.write(request(mine))
      })
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: Math.min(connections, perSecond) }, worker))
  return answered
}
