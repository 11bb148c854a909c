import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { importContacts } from '../src/domains/contacts/files/contract.ts'
import { refusalFault } from './recipes/answer.ts'
import { makeWorld } from './world.ts'

// Bytes that are not an HTTP request, or barely one: each is answered 4xx in our format, or the connection is closed.

const world = await makeWorld()
await world.app.listen({ host: '127.0.0.1', port: 0 })
const { port } = world.app.server.address() as AddressInfo // a TCP server
const { key } = await world.tenant()

const head = `Host: localhost\r\nX-User-API-Key: ${key}\r\n`
const json = `${head}Content-Type: application/json\r\n`
const post = `POST /open/sms/send HTTP/1.1\r\n${json}`
const get = `GET /open/info HTTP/1.1\r\n${head}`

const corpus: Record<string, string | Buffer> = {
  garbage: Buffer.from([0x16, 3, 1, 0, 200, 1, 0, 0, 0xff, 0xfe, 0, 13, 10, 13, 10]),
  zeros: Buffer.alloc(100),
  'a line of another protocol': 'SSH-2.0-OpenSSH_9.2\r\n\r\n',
  'a proxy header': 'PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\nGET / HTTP/1.1\r\n\r\n',
  'no version': `GET /open/info\r\n${head}\r\n`,
  'an odd version': `GET /open/info HTTP/9.9\r\n${head}\r\n`,
  'an unknown method': `BREW /open/info HTTP/1.1\r\n${head}\r\n`,
  'a method in lower case': `get /open/info HTTP/1.1\r\n${head}\r\n`,
  'a bare line feed': `${get.replaceAll('\r\n', '\n')}\n`,
  'a bare carriage return': `GET /open/info HTTP/1.1\rHost: x\r\r`,
  'no host': `GET /open/info HTTP/1.1\r\nX-User-API-Key: ${key}\r\n\r\n`,
  'two hosts': `${get}Host: other\r\n\r\n`,
  'two hosts that are equal': `${get}Host: localhost\r\n\r\n`,
  'two hosts in other letters': `${get}HOST: localhost\r\n\r\n`,
  'two keys': `${get}X-User-API-Key: ${key}\r\n\r\n`,
  'two authorizations': `${get}Authorization: a\r\nAuthorization: b\r\n\r\n`,
  'two codings of a body': `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'two lengths that are equal': `${post}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
  'a request line of HTTP/2.0': `GET /open/info HTTP/2.0\r\n${head}\r\n`,
  'a request line of HTTP/0.9': `GET /open/info HTTP/0.9\r\n${head}\r\n`,
  'a compressed body': `${post}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`,
  'a body compressed twice': `${post}Content-Encoding: identity, br\r\nContent-Length: 2\r\n\r\n{}`,
  'both forms of length': `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'both forms of length, the other way': `${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  'two lengths': `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
  'a negative length': `${post}Content-Length: -1\r\n\r\n{}`,
  'a signed length': `${post}Content-Length: +2\r\n\r\n{}`,
  'a length in hex': `${post}Content-Length: 0x2\r\n\r\n{}`,
  'a length of 2^64': `${post}Content-Length: 18446744073709551616\r\n\r\n{}`,
  'a length over the limit': `${post}Content-Length: 300000\r\n\r\n{}`,
  'a chunk with no size': `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
  'a chunk of 2^64': `${post}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
  'an obscured coding': `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  'a coding after a tab': `${post}Transfer-Encoding:\tchunked, identity\r\n\r\n0\r\n\r\n`,
  'a space before the colon': `${get}X-A : b\r\n\r\n`,
  'a folded header': `${get}X-A: b\r\n c\r\n\r\n`,
  'a header without a colon': `${get}nonsense\r\n\r\n`,
  'a header with no name': `${get}: x\r\n\r\n`,
  'a zero in a header': `${get}X-A: a\0b\r\n\r\n`,
  'a header over 16 kB': `${get}X-A: ${'x'.repeat(20_000)}\r\n\r\n`,
  'a path over 16 kB': `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${head}\r\n`,
  'a thousand headers': `${get}${'X-A: b\r\n'.repeat(1000)}\r\n`,
  'an escape cut short': `GET /open/sms/message/%E HTTP/1.1\r\n${head}\r\n`,
  'an invalid escape': `GET /open/sms/message/%zz HTTP/1.1\r\n${head}\r\n`,
  'an escape that is no UTF-8': `GET /open/sms/message/%ff%fe HTTP/1.1\r\n${head}\r\n`,
  'an escape of a query that is no UTF-8': `GET /open/voip/virtual-numbers?x=%ed%a0%80 HTTP/1.1\r\n${head}\r\n`,
  'an overlong escape': `GET /open/%c0%ae%c0%ae/info HTTP/1.1\r\n${head}\r\n`,
  'a zero in the path': `GET /open/sms/message/SMO%00 HTTP/1.1\r\n${head}\r\n`,
  'raw bytes in the path': Buffer.concat([
    Buffer.from('GET /open/'),
    Buffer.from([0xff, 0xc3, 0x28]),
    Buffer.from(` HTTP/1.1\r\n${head}\r\n`),
  ]),
  'a path with dot segments': `GET /open/../../etc/passwd HTTP/1.1\r\n${head}\r\n`,
  'a path of another scheme': `GET file:///etc/passwd HTTP/1.1\r\n${head}\r\n`,
  'an asterisk': `OPTIONS * HTTP/1.1\r\n${head}\r\n`,
  'a tunnel': `CONNECT example.com:443 HTTP/1.1\r\n${head}\r\n`,
  'an upgrade': `GET /open/nothing HTTP/1.1\r\n${head}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  'an expectation': `${post}Expect: the-unexpected\r\nContent-Length: 2\r\n\r\n{}`,
  'HTTP/2 without asking': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a prototype': `${post}Content-Length: 24\r\n\r\n{"__proto__":{"text":1}}`,
  'a second request hidden in the first': `${post}Content-Length: 2\r\nTransfer-Encoding : chunked\r\n\r\n{}GET / HTTP/1.1\r\n\r\n`,
}

/** Inputs that a lenient parser may accept. */
const mayPass = new Set(['an asterisk', 'a path with dot segments', 'a second request hidden in the first'])

type RawResponse = { text: string; closed: boolean }

/** Sends bytes and returns the response once the connection closes, a whole answer has arrived, or nothing comes. */
const exchange = (bytes: string | Buffer): Promise<RawResponse> =>
  new Promise((resolve) => {
    let text = ''
    let halves: NodeJS.Timeout | undefined
    const socket = connect(port, '127.0.0.1')
    const end = (closed: boolean) => {
      clearTimeout(patience)
      clearTimeout(halves)
      socket.destroy()
      resolve({ text, closed })
    }
    const patience = setTimeout(() => end(false), 2_000)
    socket.on('data', (data) => {
      text += data.toString('latin1')
      const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(text) ?? []
      const from = text.indexOf('\r\n\r\n')
      if (length && from >= 0 && text.length >= from + 4 + Number(length)) end(true)
    })
    socket.on('close', () => end(true))
    socket.on('error', () => end(true))
    socket.write(bytes)
    // Half of a request would wait for its other half.
    halves = setTimeout(() => socket.end(), 150)
  })

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Returns what is wrong with the response, or null. @param mayPass a mutation may leave a request valid */
const wrong = ({ text, closed }: RawResponse, mayPass: boolean): string | null => {
  if (text === '') return closed ? null : 'there was no response, and the connection stays open'
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? []
  if (status === undefined) return `no HTTP: ${text.slice(0, 100)}`
  if (mayPass && Number(status) < 300) return null
  // Uploads beyond the share of an account come later.
  const isLater = status === '503' && /\r\nretry-after: \d+\r\n/i.test(text)
  if (!/^4/.test(status) && !(mayPass && isLater)) return `status ${status}: ${text.slice(0, 300)}`
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(text) ?? []
  const body = text.slice(text.indexOf('\r\n\r\n') + 4).slice(0, length === undefined ? undefined : Number(length))
  const [, type] = /\r\ncontent-type: ([^\r]*)\r\n/i.exec(text) ?? []
  const raw = { status: Number(status), text: body, body: parsed(body), headers: { 'content-type': type } }
  // An import that is refused names its bad lines.
  const shapes = [{ shape: 'brief' }, { shape: 'full' }, importContacts] as const
  const faults = shapes.map((shape) => refusalFault(shape, raw))
  return faults.includes(null) ? null : (faults[1] ?? null)
}

for (const [name, bytes] of Object.entries(corpus))
  test(`${name}: the request is refused in our format, or the connection is closed`, async () => {
    assert.equal(wrong(await exchange(bytes), mayPass.has(name)), null)
  })

const long = process.env.TRUNKLINE_TEST_LONG === '1'
const seed = Number(process.env.TRUNKLINE_FUZZ_SEED ?? (long ? randomInt(2 ** 31) : 1))
const rounds = long ? 1000 : 20

/** Fuzzes requests, of which some bytes are changed. */
const fuzz = async (wholes: readonly string[]): Promise<void> => {
  const change = fc.record({
    at: fc.nat(Math.max(...wholes.map(({ length }) => length)) - 1),
    to: fc.oneof(fc.constantFrom(0, 9, 10, 13, 32, 34, 37, 58, 127, 255), fc.nat(255)),
    how: fc.constantFrom('set', 'insert', 'cut', 'repeat'),
  })
  const changes = fc.array(change, { minLength: 1, maxLength: 6 })
  const mutated = fc.tuple(fc.constantFrom(...wholes), changes).map(([whole, changes]) =>
    changes.reduce(
      (bytes, { at, to, how }) => {
        const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
        if (how === 'cut') return Buffer.concat([before, after.subarray(1 + (to % 8))])
        if (how === 'repeat') return Buffer.concat([before, after.subarray(0, 40), after])
        return Buffer.concat([before, Buffer.from([to]), how === 'set' ? after.subarray(1) : after])
      },
      Buffer.from(whole, 'latin1'),
    ),
  )
  const many = fc.array(mutated, { minLength: 1, maxLength: 50, size: 'max' })
  const property = fc.asyncProperty(many, async (requests) => {
    const said = await Promise.all(requests.map((bytes) => exchange(bytes)))
    for (const [i, one] of said.entries()) {
      const fault = wrong(one, true)
      assert.equal(fault, null, `${fault}\n${JSON.stringify(requests[i]?.toString('latin1'))}`)
    }
  })
  await fc.assert(property, { seed, numRuns: wholes.length > 1 ? rounds / 2 : rounds })
}

test(`a request with some of its bytes changed is answered, refused or closed (TRUNKLINE_FUZZ_SEED=${seed})`, () =>
  fuzz([`${post}Content-Length: 52\r\n\r\n{"from_number":"1","to_number":"2","text":"\\ud83d\\ude00"}`]))

test(`an upload with some of its bytes changed, multipart or not, is answered, refused or closed (TRUNKLINE_FUZZ_SEED=${seed})`, () => {
  const boundary = 'a boundary'
  const part = (head: string, body: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`
  const form = `${part('name="kind"', 'identity')}${part('name="file"; filename="a.pdf"', '%PDF-1.7')}--${boundary}--\r\n`
  const csv = 'first_name,phone\r\nAda,+447700900123\r\n'
  const card = 'BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada\r\nTEL:+447700900123\r\nEND:VCARD\r\n'
  const contents = [
    [`multipart/form-data; boundary="${boundary}"`, form],
    [`multipart/mixed; boundary="${boundary}"`, form],
    ['application/pdf', '%PDF-1.7\n'],
    ['image/png', '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01'],
    ['image/jpeg', '\xff\xd8\xff\xe0\0\x10JFIF\0'],
    ['text/csv', csv],
    ['text/vcard; charset=utf-8', card],
  ] as const
  const paths = ['/open/numbers/documents?kind=identity&name=Pass.pdf', '/open/media', '/open/contacts/import']
  return fuzz(
    paths.flatMap((path) =>
      contents.flatMap(([type, body]) => [
        `POST ${path} HTTP/1.1\r\n${head}Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        `POST ${path} HTTP/1.1\r\n${head}Content-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n` +
          `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      ]),
    ),
  )
})

test('a body that never ends is refused with 408', async (t) => {
  // timeouts.test.ts of the server has the short form, with shorter timeouts.
  if (!long) return t.diagnostic('waited for in the long form only')
  const socket = connect(port, '127.0.0.1')
  const drip = setInterval(() => socket.write(' '), 1000)
  let text = ''
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  socket.write(`${post}Content-Length: 1000\r\n\r\n{`)
  await once(socket, 'close')
  clearInterval(drip)
  assert.match(text, /^HTTP\/1\.1 408 /)
  assert.equal(wrong({ text, closed: true }, false), null)
})

test('the server still answers after every malformed request', async () => {
  const { text } = await exchange(`${get}\r\n`)
  assert.match(text, /^HTTP\/1\.1 200 /)
})
