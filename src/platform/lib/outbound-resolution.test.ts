import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http, { type RequestListener } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import tls from 'node:tls'
import { a, aaaa, type DnsRecord, startDnsServer } from '../../../test/dns-server.ts'
import { needs } from '../../../test/needs.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeOutbound } from './outbound.ts'
import { OutboundError } from './outbound-exchange.ts'

const dns = await startDnsServer()
after(dns.close)
const { zone, questions } = dns

const fixed = (name: string, ...records: DnsRecord[]) => zone.set(name, () => records)

/** Receivers on two loopback addresses with the same port: the first is allowed, the second is not. */
const receive = async (address: string, port: number) => {
  let connections = 0
  const listener: RequestListener = (request, response) => request.resume().on('end', () => response.end(address))
  const server = http.createServer(listener).on('connection', () => connections++)
  server.listen(port, address)
  await once(server, 'listening')
  after(() => server.close())
  after(() => server.closeAllConnections())
  return { port: (server.address() as AddressInfo).port, connections: () => connections } // it listens on TCP
}
const good = await receive('127.0.0.1', 0)
const bad = await receive('127.0.0.2', good.port)

const guard = () => {
  const outbound = makeOutbound({ allowPrivate: false, http: true, allow: ['127.0.0.1'], dns: dns.servers })
  after(outbound.close)
  return outbound
}

const post = async (name: string, outbound = guard(), scheme = 'http', port = good.port): Promise<string> => {
  const request = { headers: {}, body: '', timeoutMs: 2_000, maxBytes: 100 }
  try {
    return (await outbound.post({ ...request, url: `${scheme}://${name}:${port}/` })).excerpt
  } catch (error) {
    assert.ok(error instanceof OutboundError, String(error))
    return error.code
  }
}

test('a name is refused if any of its addresses is forbidden', async () => {
  fixed('good.example', a('127.0.0.1'))
  assert.equal(await post('good.example'), '127.0.0.1')
  assert.equal(await post('GOOD.example.'), '127.0.0.1')
  fixed('bad.example', a('127.0.0.2'))
  fixed('mixed.example', a('127.0.0.1'), a('127.0.0.2'))
  fixed('six.example', a('127.0.0.1'), aaaa('::1'))
  fixed('mapped.example', aaaa('::ffff:7f00:2'))
  fixed('translated.example', a('127.0.0.1'), aaaa('64:ff9b::a9fe:a9fe'))
  fixed('metadata.example', a('8.8.8.8'), a('169.254.169.254'))
  for (const name of ['bad', 'mixed', 'six', 'mapped', 'translated', 'metadata']) {
    assert.equal(await post(`${name}.example`), 'refused', name)
    assert.match((await guard().check(`http://${name}.example/`)) ?? '', new RegExp(`by the name ${name}.example`))
  }
  assert.equal(bad.connections(), 0)
})

test('a chain of aliases is checked by its final address', async () => {
  const chain = (end: DnsRecord): DnsRecord[] => [
    { type: 'CNAME', value: 'b.example', owner: 'chain.example' },
    { type: 'CNAME', value: 'c.example', owner: 'b.example' },
    { ...end, owner: 'c.example' },
  ]
  fixed('chain.example', ...chain(a('127.0.0.2')))
  assert.equal(await post('chain.example'), 'refused')
  fixed('chain.example', ...chain(a('127.0.0.1')))
  assert.equal(await post('chain.example'), '127.0.0.1')
  assert.equal(bad.connections(), 0)
})

test('a name that changes after the check is not resolved again: the checked address is called', async () => {
  zone.set('rebind.example', (nth) => [a(nth === 0 ? '127.0.0.1' : '127.0.0.2')])
  const outbound = guard()
  assert.equal(await outbound.check(`http://rebind.example:${good.port}/`), null)
  const before = good.connections()
  assert.deepEqual(await Promise.all([1, 2, 3].map(() => post('rebind.example', outbound))), [
    '127.0.0.1',
    '127.0.0.1',
    '127.0.0.1',
  ])
  assert.ok(good.connections() > before)
  assert.equal(questions.get('rebind.example 1'), 1)
  assert.equal(await post('rebind.example'), 'refused', 'a new resolution is checked again')
  assert.equal(bad.connections(), 0)
})

test('an unknown or temporarily unresolvable name is not refused by the check', async () => {
  zone.set('broken.example', () => 'fails')
  zone.set('empty.example', () => [])
  for (const name of ['unknown.example', 'broken.example', 'empty.example']) {
    assert.equal(await post(name), 'dns', name)
    assert.equal(await guard().check(`http://${name}/`), null, name)
  }
  // One address family is enough if the other one cannot be resolved.
  zone.set('half.example', (nth) => (nth === 0 ? [a('127.0.0.1')] : 'fails'))
  assert.equal(await post('half.example'), '127.0.0.1')
})

test(
  'over https the certificate is held to the name, though the judged address is called',
  needs('openssl'),
  async () => {
    const folder = temporaryFolder()
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const subject = ['-subj', '/CN=hook.example', '-addext', 'subjectAltName=DNS:hook.example']
    const how = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    execFileSync('openssl', [...how, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
    const names: unknown[] = []
    const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
      names.push([request.headers.host, 'servername' in request.socket && request.socket.servername])
      request.resume().on('end', () => response.end('secret'))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    after(() => server.close())
    after(() => server.closeAllConnections())
    const { port } = server.address() as AddressInfo // it listens on TCP
    fixed('hook.example', a('127.0.0.1'))
    fixed('other.example', a('127.0.0.1'))
    assert.equal(await post('hook.example', guard(), 'https', port), 'tls', 'the certificate is self-signed')
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), readFileSync(cert, 'utf8')])
    assert.equal(await post('hook.example', guard(), 'https', port), 'secret')
    assert.equal(await post('other.example', guard(), 'https', port), 'tls', 'the certificate is for another name')
    assert.deepEqual(names, [[`hook.example:${port}`, 'hook.example']])
  },
)
