import { after } from 'node:test'
import { WebSocket } from 'ws'
import { until } from '../../../test/platform.ts'
import { type LiveServerFrame, liveProtocol } from './contract.ts'

/** A page of the console, as far as its socket goes. It acknowledges every event. */
export const openPage = async (
  url: string,
  { cookie, account }: { readonly cookie: string; readonly account: string },
  topics: readonly string[],
) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/console/live`, [liveProtocol], {
    headers: { cookie, origin: url },
  })
  after(() => socket.terminate())
  const frames: LiveServerFrame[] = []
  const listeners = new Set<(frame: LiveServerFrame) => void>()
  const send = (frame: object) => socket.send(JSON.stringify(frame))
  socket.on('message', (data) => {
    const frame: LiveServerFrame = JSON.parse(String(data))
    frames.push(frame)
    for (const listener of listeners) listener(frame)
    if (frame.type === 'event') send({ type: 'ack', id: frame.id })
  })
  socket.on('error', () => {})
  const of = <const T extends LiveServerFrame['type']>(type: T) =>
    frames.filter((frame): frame is Extract<LiveServerFrame, { type: T }> => frame.type === type)
  await until(async () => of('hello').length > 0)
  if (topics.length > 0) {
    send({ type: 'subscribe', account, topics })
    await until(async () => of('subscribed').length > 0 || of('refused').length === topics.length)
  }
  return { socket, send, of, onFrame: (listener: (frame: LiveServerFrame) => void) => void listeners.add(listener) }
}

/** The status that answers the upgrade of a socket. */
export const upgradeStatus = (url: string, cookie: string): Promise<number> =>
  new Promise((resolve) => {
    const headers = { cookie, origin: url }
    const socket = new WebSocket(`${url.replace('http', 'ws')}/console/live`, [liveProtocol], { headers })
    socket.on('unexpected-response', (_request, answer) => resolve(answer.statusCode ?? 0))
    socket.on('open', () => {
      socket.terminate()
      resolve(101)
    })
    socket.on('error', () => {})
  })
