import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { Agent, type AgentHandlers } from '../../src/connectors/sip/codec/agent/agent.ts'
import type { IncomingCall } from '../../src/connectors/sip/codec/dialog/incoming.ts'
import type { Flow } from '../../src/connectors/sip/codec/transport/flow.ts'
import { nothing } from '../../src/connectors/sip/testing.ts'

/** A browser as far as SIP goes: our own agent over a WebSocket that it opened. */
export type WebAgent = {
  readonly agent: Agent
  /** Calls that came and were not taken from here yet. */
  readonly calls: IncomingCall[]
  readonly flow: Flow
  /** With what its connection was closed; null while it stands. */
  readonly code: number | null
  /** Again, after it was cut. @param to somewhere else */
  connect(to?: string): Promise<void>
  cut(): void
}

export const openWebAgent = async (
  t: Pick<TestContext, 'after'>,
  url: string,
  user: string,
  handlers: Partial<AgentHandlers> = {},
): Promise<WebAgent> => {
  const calls: IncomingCall[] = []
  const agent = new Agent({ user, handlers: { ...nothing, onInvite: (call) => void calls.push(call), ...handlers } })
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
      toward: () => own,
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
