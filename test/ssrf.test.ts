import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { makeOutbound } from '../src/platform/lib/outbound.ts'
import { metadata, publicAddresses, ranges4, ranges6 } from './ssrf/ranges.ts'
import { ipv4Spellings, ipv6Embeddings, privateNames, refusedForms } from './ssrf/spellings.ts'

/** The numeric value of an address. */
const numberOf = (address: string): bigint => {
  if (!address.includes(':')) return address.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n)
  const [left = '', right = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const [before, behind] = [groups(left), groups(right)]
  const middle = address.includes('::') ? Array.from({ length: 8 - before.length - behind.length }, () => '0') : []
  return [...before, ...middle, ...behind].reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n)
}

const text4 = (number: bigint) => [24n, 16n, 8n, 0n].map((shift) => String((number >> shift) & 255n)).join('.')
const text6 = (number: bigint) =>
  `[${Array.from({ length: 8 }, (_, i) => ((number >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':')}]`

type Range = { first: bigint; last: bigint }

const rangeOf = (network: string): Range => {
  const [base = '', length = ''] = network.split('/')
  const first = numberOf(base)
  return { first, last: first + (1n << BigInt((base.includes(':') ? 128 : 32) - Number(length))) - 1n }
}

const within = (ranges: readonly Range[], number: bigint) =>
  ranges.some(({ first, last }) => number >= first && number <= last)

/** First and last address of each range, and their neighbours outside, each with the expected verdict. */
const edges = (networks: readonly string[], bits: bigint, show: (number: bigint) => string, unicast: Range) => {
  const ranges = networks.map(rangeOf)
  return ranges
    .flatMap(({ first, last }) => [first - 1n, first, last, last + 1n])
    .filter((number) => number >= 0n && number < 1n << bits)
    .map((number) => ({ host: show(number), isGood: within([unicast], number) && !within(ranges, number) }))
}

const everything4 = rangeOf('0.0.0.0/0')
const unicast6 = rangeOf('2000::/3')
const inner = ['127.0.0.1', '127.255.255.254', '10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '0.0.0.0']
const loopback = [
  '127.0.0.1',
  '[::1]',
  ...ipv4Spellings('127.0.0.1').slice(1),
  ...ipv6Embeddings('127.0.0.1').slice(0, 4),
]

const hosts = [
  ...edges(ranges4, 32n, text4, everything4),
  ...edges(ranges6, 128n, text6, unicast6),
  ...publicAddresses.map((host) => ({ host, isGood: true })),
  ...metadata.map((host) => ({ host, isGood: false })),
  ...inner
    .flatMap((address) => [...ipv4Spellings(address), ...ipv6Embeddings(address)])
    .map((host) => ({ host, isGood: false })),
  ...[
    '[::]',
    '[0::0]',
    '[0:0:0:0:0:0:0:1]',
    '[0000::0001]',
    '0',
    '0x0',
    '00',
    '0.0',
    '127.1',
    '0177.1',
    '255.255.255.255',
  ].map((host) => ({ host, isGood: false })),
  ...privateNames.map((host) => ({ host, isGood: false })),
]

/** Listens on a local address, and counts connections. */
const listen = async (host: string): Promise<{ server: Server; port: number; count: () => number }> => {
  let count = 0
  const server = createServer((socket: Socket) => {
    count++
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  after(() => server.close())
  return { server, port: (server.address() as AddressInfo).port, count: () => count } // a TCP server
}

const [four, six] = await Promise.all([listen('127.0.0.1'), listen('::1')])
const ports = [four.port, six.port]

/** Every TCP connection that this process starts, to any target. */
let dialled = 0
channel('net.client.socket').subscribe(() => dialled++)

const strict = makeOutbound({ allowPrivate: false, http: true })
const lenient = makeOutbound({ allowPrivate: true })
after(() => {
  strict.close()
  lenient.close()
})

const post = (outbound: typeof strict, url: string) =>
  outbound.post({ url, headers: {}, body: '{}', timeoutMs: 2_000, maxBytes: 1_000 }).then(
    ({ status }) => String(status),
    ({ code }: { code: string }) => code,
  )

test('the corpus holds the expected addresses', (t) => {
  const different = new Set([...hosts.map(({ host }) => host), ...refusedForms])
  assert.ok(different.size >= 400, `saw only ${different.size} entries`)
  t.diagnostic(`${different.size} entries`)
  assert.ok(new Set(publicAddresses).size >= 100, `saw only ${publicAddresses.length} good addresses`)
  assert.ok(hosts.filter(({ isGood }) => !isGood).length >= 300)
})

test('every host of the corpus gets the expected verdict, over http and https', async () => {
  const wrong: string[] = []
  for (const { host, isGood } of hosts)
    for (const scheme of ['http', 'https'])
      if (((await strict.check(`${scheme}://${host}/hook`)) === null) !== isGood) wrong.push(`${scheme}://${host}/`)
  assert.deepEqual(wrong, [])
})

test('no connection is started to a refused host', async () => {
  const before = dialled
  for (const { host } of hosts.filter(({ isGood }) => !isGood))
    for (const port of ports) assert.equal(await post(strict, `http://${host}:${port}/hook`), 'refused', host)
  assert.deepEqual([dialled - before, four.count(), six.count()], [0, 0, 0])
})

test('an address that is not a plain one is refused whatever its target, in a private installation, too', async () => {
  const before = dialled
  for (const form of refusedForms)
    for (const host of ['example.com', '8.8.8.8', '127.0.0.1']) {
      const url = form.replaceAll('HOST', host)
      for (const outbound of [strict, lenient]) {
        assert.notEqual(await outbound.check(url), null, url)
        assert.equal(await post(outbound, url), 'refused', url)
      }
    }
  assert.equal(dialled, before)
})

test('a private installation reaches loopback and private addresses, and no other refused ones', async () => {
  for (const host of [...loopback, '10.0.0.1', '192.168.0.1', '[fd12::1]', 'redis', 'localhost', 'nas.lan'])
    assert.equal(await lenient.check(`http://${host}:8080/`), null, host)
  for (const host of ['169.254.169.254', '[fd00:ec2::254]', '100.100.100.200', '0', '[::]', '224.0.0.1', '192.0.2.1'])
    assert.notEqual(await lenient.check(`http://${host}:8080/`), null, host)
})

test('the listeners would have seen a connection', async () => {
  const [before, counted] = [dialled, four.count() + six.count()]
  assert.equal(await post(lenient, `http://127.1:${four.port}/`), '200')
  assert.equal(await post(lenient, `http://[::1]:${six.port}/`), '200')
  assert.equal(dialled - before, 2)
  assert.equal(four.count() + six.count() - counted, 2)
})

test('plain http is refused unless the operator allows it', async () => {
  const outbound = makeOutbound({ allowPrivate: false })
  assert.match((await outbound.check('http://8.8.8.8/')) ?? '', /use https/)
  assert.equal(await outbound.check('https://8.8.8.8/'), null)
  outbound.close()
})

test('a network that the operator names is allowed, and no address outside it', async () => {
  const outbound = makeOutbound({ allowPrivate: false, allow: ['10.1.0.0/16', 'fd12::/48', '169.254.1.1'] })
  for (const host of ['10.1.2.3', '[fd12::9]', '169.254.1.1'])
    assert.equal(await outbound.check(`https://${host}/`), null)
  for (const host of ['10.2.0.0', '10.0.255.255', '[fd12:0:1::]', '169.254.1.2', '127.0.0.1'])
    assert.notEqual(await outbound.check(`https://${host}/`), null, host)
  outbound.close()
  for (const network of ['10.1.0.0/33', 'ten', '10.1/16', '::/129'])
    assert.throws(() => makeOutbound({ allowPrivate: false, allow: [network] }), /no network/)
})
