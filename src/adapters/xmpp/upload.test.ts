import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { ns } from '@trunkline/xmpp/namespaces.ts'
import type { Wire } from '@trunkline/xmpp/wire.ts'
import { xml } from '@trunkline/xmpp/xml.ts'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import { uploadFile } from './upload.ts'

// HTTP statuses of an upload server. Prosody accepts every granted upload; this server answers as configured.

let status = 201
const server = createServer((request, answer) => {
  request.resume().on('end', () => answer.writeHead(status).end())
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file` // it listens on TCP

/** Grants a slot on that server for every request. */
const wire: Wire = {
  self: 'me@example.org',
  isUp: true,
  send: () => true,
  request: async () => ({
    outcome: 'result',
    iq: xml('iq', '', {}, xml('slot', ns.upload, {}, xml('put', ns.upload, { url }), xml('get', ns.upload, { url }))),
  }),
  deliver: async () => {
    throw new Error('no message is sent here')
  },
  ping: async () => true,
}

const bytes = Buffer.from('hello')
const file = {
  type: 'document',
  mimeType: 'text/plain',
  name: 'hello.txt',
  size: bytes.length,
  url,
  open: () => Readable.from([bytes]),
} as const

const settings: XmppSettings = { mode: 'client', host: '127.0.0.1', port: 5222, domain: 'example.org' }

for (const [said, outcome] of [
  [201, 'done'],
  [403, 'refused'],
  [413, 'refused'],
  [408, 'later'],
  [429, 'later'],
  [503, 'later'],
] as const)
  test(`a file that a server answers with ${said} is ${outcome}`, async () => {
    status = said
    const services = { groups: null, upload: 'upload.example.org', uploadMax: 100 }
    assert.equal((await uploadFile(wire, services, settings, file)).outcome, outcome)
  })
