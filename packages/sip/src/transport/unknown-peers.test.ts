import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { certificate } from '../../../../test/certificate.ts'
import { needs } from '../../../../test/needs.ts'
import { defaultHandlers, ManualTimers, octets, requestText, until } from '../user-agent/testing.ts'
import { UserAgent } from '../user-agent/user-agent.ts'
import { openTcp, type TcpSettings } from './tcp.ts'

// Known peers connect from 127.0.0.2.

const dial = async (t: TestContext, port: number, localAddress: string, secure: string | null) => {
  const where = { port, host: '127.0.0.1', localAddress }
  const socket: Socket = secure === null ? connect(where) : connectTls({ ...where, ca: secure })
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, secure === null ? 'connect' : 'secureConnect')
  return socket
}

for (const protocol of ['TCP', 'TLS'] as const)
  test(
    `unknown peers over ${protocol} are limited and closed early, and use no slot of known peers`,
    needs('openssl'),
    async (t) => {
      const timers = new ManualTimers()
      const pair = protocol === 'TLS' ? certificate() : null
      const open = async () => {
        const agent = new UserAgent({ handlers: defaultHandlers, timers })
        t.after(() => agent.close())
        const settings: TcpSettings = {
          address: '127.0.0.1',
          port: 0,
          maxConnections: 2,
          ...(pair ? { tls: pair, trustOf: () => ({ ca: pair.cert, name: null }) } : {}),
          isKnown: (address: string) => address === '127.0.0.2',
        }
        const { sentBy } = agent.transports.add(await openTcp(settings, agent.transports, agent.timers))
        return { agent, port: sentBy.port ?? 0 }
      }
      const [us, them] = [await open(), await open()]

      let closed = 0
      const strangers = await Promise.all(
        Array.from({ length: 110 }, async () => {
          const socket = await dial(t, us.port, '127.0.0.3', null)
          socket.on('close', () => closed++)
          socket.resume()
          return socket
        }),
      )
      await until(() => closed === 10)

      const known = await dial(t, us.port, '127.0.0.2', pair?.cert ?? null)
      let answer = ''
      known.on('data', (chunk: Buffer) => {
        answer += chunk.toString('latin1')
      })
      known.write(octets(requestText('OPTIONS', us.port).replace('SIP/2.0/UDP', `SIP/2.0/${protocol}`)))
      await until(() => answer.startsWith('SIP/2.0 200'))
      const uri = `${pair ? 'sips' : 'sip'}:them@127.0.0.1:${them.port};transport=tcp`
      const outcome = await us.agent.request('OPTIONS', { uri, from: '<sip:us@127.0.0.1>' })
      assert.equal(outcome.outcome, 'answered')

      timers.advance(30_000)
      await until(() => closed === strangers.length)
      assert.equal(known.destroyed, false)
      const fresh = await dial(t, us.port, '127.0.0.3', null)
      assert.equal(fresh.destroyed, false)
    },
  )
