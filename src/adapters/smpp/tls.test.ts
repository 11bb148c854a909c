import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { createServer } from 'node:tls'
import { encodePdu } from '@trunkline/smpp/encode.ts'
import { noTlvs } from '@trunkline/smpp/pdu.ts'
import { certificate } from '../../../test/certificate.ts'
import { needs } from '../../../test/needs.ts'
import { connectSmpp } from './smpp-carrier.ts'
import { ignoreIntake } from './testing.ts'

test('a bind over TLS succeeds with the right authority and fails with any other', needs('openssl'), async (t) => {
  const right = certificate()
  const server = createServer(right, (socket) => {
    socket.on('error', () => {})
    socket.once('data', (bind: Buffer) => {
      const sequence = bind.readUInt32BE(12)
      socket.write(encodePdu({ command: 'bind_transceiver_resp', sequence, status: 0, systemId: '', tlvs: noTlvs }))
      socket.resume()
    })
    t.after(() => socket.destroy())
  })
  server.on('tlsClientError', () => {})
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  const { port } = address

  /** The first state other than `connecting`, and its error. */
  const outcome = (tls_ca?: string) =>
    new Promise<string>((resolve) => {
      const settings = { host: '127.0.0.1', port, system_id: 'us', password: 'secret', tls: true }
      const carrier = connectSmpp(
        tls_ca === undefined ? settings : { ...settings, tls_ca, tls_server_name: 'carrier.test' },
        {
          ...ignoreIntake,
          changed: () => {
            const { state, lastError } = carrier.state()
            if (state !== 'connecting') resolve(`${state} ${lastError}`)
          },
        },
      )
      t.after(() => carrier.close())
    })
  assert.equal(await outcome(right.cert), 'up null')
  assert.match(await outcome(certificate().cert), /^down .*(self-signed|signature|certificate)/)
  assert.match(await outcome(), /^down .*self-signed/)
})

test('settings that allow no connection appear in the state, and nothing throws', async (t) => {
  const settings = { host: '127.0.0.1', port: 70_000, system_id: 'us', password: 'secret' }
  const error = await new Promise<string | null>((resolve) => {
    const carrier = connectSmpp(settings, {
      ...ignoreIntake,
      changed: () => {
        if (carrier.state().state === 'down') resolve(carrier.state().lastError)
      },
    })
    t.after(() => carrier.close())
  })
  assert.match(error ?? '', /port/i)
})
