import fc from 'fast-check'

/** The bytes of one connection, and how they are sent. */
export type Wire = {
  /** @param keys by the names that the requests use */
  pieces(keys: Readonly<Record<string, string>>): Buffer[]
  /** Pause after each piece, in milliseconds. */
  readonly pauseMs: number
  /** True if the client ends the connection before the last request is whole. */
  readonly isCutShort: boolean
}

type Header = readonly [name: string, value: string]

type Request = {
  readonly line: string
  readonly headers: readonly Header[]
  readonly framing: 'length' | 'chunked' | 'longer' | 'shorter' | 'both' | 'none'
  readonly body: Buffer
}

/** Asks for the end of the connection, so that the client knows when all responses have arrived. */
const last = 'GET /open/info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

const keyNames = {
  rich: 24,
  poor: 2,
  slow: 1,
  used: 2,
  blocked: 1,
  expired: 1,
  here: 1,
  elsewhere: 1,
  unscoped: 1,
  wrong: 1,
  short: 1,
  operator: 1,
  none: 1,
}

/** Most requests take the first value, which a hot route serves. */
const mostly = <T>(usual: T, others: readonly T[], weight = 14): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })

const spelled = (name: string): fc.Arbitrary<string> =>
  mostly(name, [name.toLowerCase(), name.toUpperCase(), ` ${name}`, `${name} `, name.replace('-', '_')], 30)

const header = (name: string, value: fc.Arbitrary<string | null>): fc.Arbitrary<Header[]> =>
  fc
    .tuple(spelled(name), value, mostly(1, [2], 60))
    .map(([spelling, text, times]) =>
      text === null ? [] : Array.from({ length: times }, (): Header => [spelling, text]),
    )

const credential: fc.Arbitrary<string | null> = fc
  .oneof(...Object.entries(keyNames).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name) })))
  .map((name) => (name === 'none' ? null : `{${name}}`))

const otherHeaders: readonly Header[] = [
  ['Accept', '*/*'],
  ['Accept-Encoding', 'gzip, br'],
  ['Accept-Version', '1.0.0'],
  ['Authorization', 'Bearer x'],
  ['Connection', 'keep-alive'],
  ['Connection', 'close'],
  ['Connection', 'upgrade'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity'],
  ['Cookie', 'a=b'],
  ['Expect', '100-continue'],
  ['Expect', 'the-unexpected'],
  ['Forwarded', 'for=192.0.2.1'],
  ['Keep-Alive', 'timeout=1'],
  ['Origin', 'http://localhost:3000'],
  ['TE', 'trailers'],
  ['Transfer-Encoding', 'identity'],
  ['Upgrade', 'websocket'],
  ['Upgrade', 'h2c'],
  ['User-Agent', 'fuzz'],
  ['X-Forwarded-For', '192.0.2.1'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Operator-Key', '{operator}'],
  ['X-Request-Id', 'mine'],
  ['X-Filler', 'x'.repeat(9_000)],
  ['__proto__', 'x'],
]

const texts = [
  'Hello',
  'ё',
  '😀',
  'x'.repeat(500),
  'x'.repeat(1_700),
  '',
  ' ',
  '\0',
  '\ud800',
  '\u2028',
  '<&">',
  5,
  null,
  {},
]
const from = ['{sms}', '{chat}', '+447700900099', '447700900001', '+1', 'x', '', null, 447700900001, ['+447700900001']]
const to = ['+447700900123', '447700900124', '+12025550123', '+33612345678', '+44', 'Bank', '', null, 447700900123]

const field = (values: readonly unknown[]): fc.Arbitrary<unknown> =>
  mostly(values[0], [...values.slice(1), undefined], 10)

const extra: fc.Arbitrary<object> = mostly<object>({}, [
  { send_at: '2030-01-01T00:00:00Z' },
  { send_at: '2026-11-23T00:00:00Z' },
  { send_at: '9999-01-01T00:00:00Z' },
  { send_at: 'x' },
  { send_at: '' },
  { unknown: 1 },
  { url: 'http://127.0.0.1/a.png' },
  { url: 'https://192.0.2.1/a.png' },
  { url: 'x' },
  { to_group_uuid: 'WAG018f0000-0000-7000-8000-000000000001' },
  { to_remote_id: '123456789012345@lid' },
  { pin: { latitude: 51.5, longitude: 0 } },
  { pin: { latitude: '51.5', longitude: '' } },
  { template: { name: 'x', language: 'en' } },
  { toString: 1, hasOwnProperty: 2 },
])

const fields: fc.Arbitrary<string> = fc
  .record({ from: field(from), to: field(to), text: field(texts), extra, reversed: fc.boolean() })
  .map(({ from: from_number, to: to_number, text, extra, reversed }) => {
    const entries = Object.entries({ from_number, to_number, text, ...extra })
    return JSON.stringify(Object.fromEntries(reversed ? entries.reverse() : entries))
  })

const valid = '{"from_number":"{sms}","to_number":"+447700900123","text":"Hello"'

const brokenBodies: readonly Buffer[] = [
  ...['', ' ', '{', '}', 'null', '5', '"x"', '[]', '[{}]', 'true', '{}', '{"a":1,}', "{'a':1}", 'NaN', '\ufeff{}'],
  ...[`${valid}`, `${valid},}`, `${valid}}}`, ` ${valid}}\n`, `\ufeff${valid}}`, `${valid},"text":"again"}`],
  ...[`${valid},"__proto__":{"text":1}}`, `${valid},"\\u005f_proto__":1}`, `${valid},"constructor":{"prototype":{}}}`],
  ...[`${valid},"x":"\\u0000"}`, `${valid},"x":"\\ud800"}`, `${valid},"x":${'['.repeat(300)}${']'.repeat(300)}}`],
  ...[`${valid},"x":${'[0,'.repeat(900)}0${']'.repeat(900)}}`, `${valid},"x":"${'x'.repeat(16_000)}"}`],
  ...[`${valid},"x":"${'x'.repeat(17_000)}"}`, `${valid},"x":1e999}`],
].map((text) => Buffer.from(text))

const large = Buffer.from(`${valid},"x":"${'x'.repeat(300_000)}"}`)

const rawBodies: readonly Buffer[] = [
  ...brokenBodies,
  ...[large, large, large],
  Buffer.concat([Buffer.from(`${valid},"x":"`), Buffer.from([0xff, 0xc3, 0x28]), Buffer.from('"}')]),
  Buffer.from(`${valid}}`, 'utf16le'),
  Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
]

const body: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 8, arbitrary: fields.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.constantFrom(...rawBodies) },
)

const jsonType = 'application/json'
const types = [
  ...[
    null,
    `${jsonType}; charset=utf-8`,
    `${jsonType};charset=UTF-8`,
    'APPLICATION/JSON',
    `${jsonType}; charset=latin1`,
  ],
  ...[
    `${jsonType}, ${jsonType}`,
    `${jsonType};`,
    'text/plain',
    'application/x-www-form-urlencoded',
    'x',
    '',
    'text/csv',
  ],
]

const path = fc.oneof(
  { weight: 16, arbitrary: fc.constantFrom('/open/sms/send', '/open/msgapp/send-message') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...['/open/sms/send/', '/open/sms/send?', '/open/sms/send?x=1', '/open/sms/send#x', '//open/sms/send'],
      ...['/open/sms/SEND', '/open/sms/%73end', '/open/sms/preview', 'http://localhost/open/sms/send', '/open/sms'],
      ...['/open/msgapp/send-message/', '/open/msgapp/send-message;x', '/open/msgapp/send-message?x=%ff', '*'],
    ),
  },
)

const request: fc.Arbitrary<Request> = fc
  .record({
    method: mostly('POST', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'post', 'QUERY'], 24),
    path,
    version: mostly('1.1', ['1.0', '1.2', '2.0'], 60),
    host: header('Host', mostly<string | null>('localhost', [null, '', 'a b'], 40)),
    key: header('X-User-API-Key', credential),
    type: header('Content-Type', mostly<string | null>(jsonType, types, 12)),
    once: header(
      'Idempotency-Key',
      mostly<string | null>(null, ['{n}', '{n}', '{n}', '{n}', '', 'x'.repeat(255), 'x'.repeat(256)], 4),
    ),
    more: fc.oneof(
      { weight: 3, arbitrary: fc.constant<Header[]>([]) },
      { weight: 1, arbitrary: fc.array(fc.constantFrom(...otherHeaders), { maxLength: 3 }) },
    ),
    framing: mostly<Request['framing']>('length', ['chunked', 'longer', 'shorter', 'both', 'none'], 24),
    body,
    order: fc.boolean(),
  })
  .map(({ method, path, version, host, key, type, once, more, framing, body, order }) => {
    const headers = [...host, ...more, ...type, ...once, ...key]
    return { line: `${method} ${path} HTTP/${version}`, headers: order ? headers : headers.reverse(), framing, body }
  })

const bytesOf = (
  { line, headers, framing, body }: Request,
  n: number,
  keys: Readonly<Record<string, string>>,
): Buffer => {
  const isChat = line.includes('msgapp')
  const account = Math.max(
    1,
    ['', 'rich', 'poor', 'slow', 'used', 'blocked'].indexOf(
      /\{(\w+)\}/.exec(headers.find(([, value]) => value.startsWith('{') && value !== '{operator}')?.[1] ?? '')?.[1] ??
        '',
    ),
  )
  const [sms, chat] = [`+44770090000${account}`, `+44151496000${account}`]
  const whole = Buffer.from(
    body
      .toString('latin1')
      .replaceAll('"{sms}"', `"${isChat ? chat : sms}"`)
      .replaceAll('"{chat}"', `"${isChat ? sms : chat}"`),
    'latin1',
  )
  const fill = (value: string) =>
    value.replace('{n}', String(n)).replace(/\{(\w+)\}/, (_, name: string) => keys[name] ?? '')
  const { length } = whole
  const half = Math.floor(length / 2)
  const chunk = (from: number, to: number) =>
    to > from ? [Buffer.from(`${(to - from).toString(16)}\r\n`), whole.subarray(from, to), Buffer.from('\r\n')] : []
  const chunked = [...chunk(0, half), ...chunk(half, length), Buffer.from('0\r\n\r\n')]
  const lengths: Record<Request['framing'], Header[]> = {
    length: [['Content-Length', String(length)]],
    longer: [['Content-Length', String(length + 7)]],
    shorter: [['Content-Length', String(Math.max(0, length - 3))]],
    chunked: [['Transfer-Encoding', 'chunked']],
    both: [
      ['Content-Length', String(length)],
      ['Transfer-Encoding', 'chunked'],
    ],
    none: [],
  }
  const head = [...headers, ...lengths[framing]].map(([name, value]) => `${name}: ${fill(value)}\r\n`)
  const payload = framing === 'chunked' || framing === 'both' ? chunked : framing === 'none' ? [] : [whole]
  return Buffer.concat([Buffer.from(`${line}\r\n${head.join('')}\r\n`, 'latin1'), ...payload])
}

const split = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const cuts = [...new Set(places.map((place) => place % bytes.length))].sort((a, b) => a - b)
  return [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i] ?? bytes.length)).filter(({ length }) => length > 0)
}

/** Gives a request a key that needs no query: whether a client leaves before its result depends on the time. */
const withCachedKey = (one: Request): Request => ({
  ...one,
  headers: one.headers.map(
    ([name, value]): Header => (/^\{(?!operator)/.test(value) ? [name, '{rich}'] : [name, value]),
  ),
})

const plainHeaders = /^(?:host: localhost|(?:x-user-api-key|content-type|idempotency-key): .*)$/is

/** One request that is valid HTTP: its connection does not end before its response. */
const single: fc.Arbitrary<Wire> = request
  .filter(
    ({ line, framing, headers }) =>
      /^POST \S+ HTTP\/1\.1$/.test(line) &&
      (framing === 'length' || framing === 'chunked') &&
      headers.every((field) => plainHeaders.test(field.join(': '))),
  )
  .map((one) => ({
    pauseMs: 0,
    isCutShort: false,
    pieces: (keys) => [Buffer.concat([bytesOf(one, 0, keys), Buffer.from(last)])],
  }))

const any: fc.Arbitrary<Wire> = fc
  .record({
    requests: fc.array(request, { minLength: 1, maxLength: 4 }),
    splits: fc.oneof(
      { weight: 3, arbitrary: fc.constant<number[]>([]) },
      { weight: 1, arbitrary: fc.array(fc.nat(4_000), { maxLength: 4 }) },
    ),
    pauseMs: fc.constantFrom(0, 0, 0, 1, 4),
    cut: mostly(0, [1, 2, 20, 60, 200, 400], 30),
  })
  .map(({ requests, splits, pauseMs, cut }) => {
    // A client that sends less than it announced waits for ever: it has to end the connection.
    const longer = requests.find(({ framing }) => framing === 'longer')
    const [first] = requests
    const unfinished = longer ?? (cut > 0 ? first : undefined)
    const whole = unfinished ? [withCachedKey(unfinished)] : requests
    return {
      pauseMs,
      isCutShort: unfinished !== undefined,
      pieces: (keys) => {
        const bytes = Buffer.concat(whole.map((one, n) => bytesOf(one, n, keys)))
        const sent = unfinished ? bytes.subarray(0, bytes.length - cut) : Buffer.concat([bytes, Buffer.from(last)])
        return sent.length === 0 ? [] : split(sent, splits)
      },
    }
  })

const of = (bytes: string): Wire => ({ pauseMs: 0, isCutShort: false, pieces: () => [Buffer.from(bytes + last)] })

export const wires = { any, single, of }
