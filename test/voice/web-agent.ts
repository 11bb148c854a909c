import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import { defaultHandlers } from '@trunkline/sip/user-agent/testing.ts'
import { UserAgent, type UserAgentHandlers } from '@trunkline/sip/user-agent/user-agent.ts'
import { WebSocket } from 'ws'

/** A browser, reduced to SIP: our own agent over a WebSocket that it opened. */
export type WebAgent = {
  readonly agent: UserAgent
  /** Calls that arrived and that the test has not removed yet. */
  readonly calls: IncomingCall[]
  readonly flow: Flow
  /** The close code and reason of its connection; null while connected. */
  readonly code: number | null
  /** Reconnects after a cut. @param to another address */
  connect(to?: string): Promise<void>
  cut(): void
}

export const openWebAgent = async (
  t: Pick<TestContext, 'after'>,
  url: string,
  user: string,
  handlers: Partial<UserAgentHandlers> = {},
): Promise<WebAgent> => {
  const calls: IncomingCall[] = []
  const agent = new UserAgent({
    user,
    handlers: { ...defaultHandlers, onInvite: (call) => void calls.push(call), ...handlers },
  })
  let flow: Flow | null = null
  let code: number | null = null
  const standing = () => flow ?? assert.fail('the browser is not connected')
  agent.transports.add({
    protocol: 'WS',
    sentBy: { host: 'browser.invalid', port: null },
    flow: async () => standing(),
    close: async () => {},
  })
  const connect = async (to = url) => {
    const socket = new WebSocket(to, 'sip')
    const own: Flow = {
      ...{ id: `browser-${Math.random()}`, protocol: 'WS', address: '127.0.0.1', port: 1 },
      get isOpen() {
        return socket.readyState === socket.OPEN
      },
      send: (octets) => {
        socket.send(octets, { binary: false })
        return true
      },
      close: () => socket.terminate(),
      withPort: () => own,
    }
    socket.on('message', (data: Buffer) => agent.transports.received(data, own))
    socket.on('close', (closed) => {
      code = closed
      agent.transports.closed(own, 'closed')
    })
    await once(socket, 'open')
    code = null
    flow = own
  }
  await connect()
  t.after(async () => {
    flow?.close('')
    await agent.close()
  })
  return {
    agent,
    calls,
    connect,
    cut: () => flow?.close(''),
    get flow() {
      return standing()
    },
    get code() {
      return code
    },
  }
}
