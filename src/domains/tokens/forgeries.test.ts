import assert from 'node:assert/strict'
import { createHmac, createPrivateKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { decodeJwt, decodeProtectedHeader, EncryptJWT } from 'jose'
import { makeWorld } from '../../../test/world.ts'

// Sends forged, corrupt and re-encoded tokens over HTTP: each is refused with 401. Forgeries signed by our own key show
// that claims and headers are checked, not only the signature.

const { app, call, parts, tenant, db } = await makeWorld()
const account = await tenant()
const other = await tenant()

const userOf = async (owner: typeof account): Promise<string> => {
  const names = { first_name: 'Ada', last_name: 'L', email: 'ada@example.com', status: 'ACTIVE' }
  return (await call('operator', 'POST', `/operator/accounts/${owner.uuid}/users`, names)).body.user.uuid
}
const [ada, stranger] = [await userOf(account), await userOf(other)]
const good: string = (await call(account, 'POST', '/open/sdk/access-token', { user_uuid: ada })).body.token
const [head = '', body = '', signature = ''] = good.split('.')
const header = decodeProtectedHeader(good)
const claims = decodeJwt(good)
const { exp = 0, iat = 0 } = claims

const row = await db.one<{ public_jwk: { x: string }; sealed_private: Buffer }>`
  select public_jwk, sealed_private from signing_keys where kid = ${header.kid ?? ''}`
const ours = createPrivateKey({ key: JSON.parse(parts.seal.open(row.sealed_private)), format: 'jwk' })
const theirs = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

const signed = (top: unknown, payload: unknown, key: KeyObject = ours): string => {
  const text = `${encode(top)}.${encode(payload)}`
  const algorithm = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return `${text}.${sign(algorithm, Buffer.from(text), key).toString('base64url')}`
}
const macced = (secret: string | Buffer, size: 256 | 384 | 512 = 256): string => {
  const text = `${encode({ ...header, alg: `HS${size}` })}.${body}`
  return `${text}.${createHmac(`sha${size}`, secret).update(text).digest('base64url')}`
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** Re-encodes the same bytes with spare bits set after the last byte. Null without spare bits. */
const trailing = (text: string, bits: number): string | null => {
  const spare = { 2: 4, 3: 2 }[text.length % 4] ?? 0
  const at = alphabet.indexOf(text.at(-1) ?? '')
  return bits < 2 ** spare ? text.slice(0, -1) + alphabet[at ^ bits] : null
}
/** Makes a payload whose last group has a given size, so that its encoding has spare bits. */
const padded = (size: 1 | 2): string => {
  let payload = JSON.stringify(claims)
  while (Buffer.byteLength(payload) % 3 !== size) payload += ' '
  return signed(header, payload)
}

const publicPem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' })
const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(row.public_jwk.x, 'base64url')])
const ourPem = `-----BEGIN PUBLIC KEY-----\n${spki.toString('base64')}\n-----END PUBLIC KEY-----\n`
const foreignJwk = theirs.publicKey.export({ format: 'jwk' })
const now = Math.floor(Date.now() / 1000)

const named = <T>(list: readonly T[], name: (one: T) => string, make: (one: T) => string): [string, string][] =>
  list.map((one) => [name(one), make(one)])

const without = (from: object, name: string): object =>
  Object.fromEntries(Object.entries(from).filter(([key]) => key !== name))

const forgeries: [string, string][] = [
  // Unsigned tokens, and other algorithms.
  ...named(
    ['none', 'None', 'NONE', 'nOnE', '', 'null'],
    (alg) => `alg ${alg}, unsigned`,
    (alg) => `${encode({ ...header, alg })}.${body}.`,
  ),
  ...named(
    ['none', 'NONE'],
    (alg) => `alg ${alg} with the signature`,
    (alg) => `${encode({ ...header, alg })}.${body}.${signature}`,
  ),
  ...named(
    [null, 1, true, [], {}, ['EdDSA']],
    (alg) => `alg ${JSON.stringify(alg)}`,
    (alg) => signed({ ...header, alg }, claims),
  ),
  ['no alg', signed(without(header, 'alg'), claims)],
  ['alg in another case', signed({ ...header, alg: 'eddsa' }, claims)],
  ['alg RS256 by a key of theirs', signed({ ...header, alg: 'RS256' }, claims, rsa.privateKey)],
  ['alg PS256 by a key of theirs', signed({ ...header, alg: 'PS256' }, claims, rsa.privateKey)],
  ['alg ES256 by a key of theirs', signed({ ...header, alg: 'ES256' }, claims, ec.privateKey)],
  [
    'alg ES256 by zeros (CVE-2022-21449)',
    `${encode({ ...header, alg: 'ES256' })}.${body}.${Buffer.alloc(64).toString('base64url')}`,
  ],
  ['a signature of zeros', `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`],
  ...named(
    [
      row.public_jwk.x,
      Buffer.from(row.public_jwk.x, 'base64url'),
      JSON.stringify(row.public_jwk),
      ourPem,
      ourPem.trim(),
      spki,
      '',
      'secret',
      header.kid ?? '',
      String(publicPem),
    ],
    (secret) => `HS256 with ${hash('sha256', secret).slice(0, 8)}`,
    (secret) => macced(secret),
  ),
  ['HS384 with the public key', macced(ourPem, 384)],
  ['HS512 with the public key', macced(ourPem, 512)],
  // Foreign keys, in every header field that can name a key.
  ['a foreign key under our kid', signed(header, claims, theirs.privateKey)],
  ['a foreign key as jwk', signed({ ...header, jwk: foreignJwk }, claims, theirs.privateKey)],
  ['a foreign key as jwk, no kid', signed({ ...without(header, 'kid'), jwk: foreignJwk }, claims, theirs.privateKey)],
  ['a foreign key as jku', signed({ ...header, jku: 'http://127.0.0.1/keys' }, claims, theirs.privateKey)],
  ['a foreign key as x5u', signed({ ...header, x5u: 'http://127.0.0.1/cert' }, claims, theirs.privateKey)],
  ['a foreign key as x5c', signed({ ...header, x5c: [spki.toString('base64')] }, claims, theirs.privateKey)],
  ['a foreign key as x5t', signed({ ...header, x5t: 'AAAA' }, claims, theirs.privateKey)],
  ...named(
    [
      ...[
        '',
        ' ',
        '0',
        'nobody',
        '../../../../dev/null',
        '/dev/null',
        'C:\\nul',
        'file:///dev/null',
        'http://127.0.0.1/key',
      ],
      ...[
        "' or 1=1 --",
        "x' union select 'AA' --",
        '"; drop table signing_keys; --',
        '%',
        '_',
        '*',
        '.*',
        '$(id)',
        '`id`',
        '|id',
      ],
      ...[
        '__proto__',
        'constructor',
        'toString',
        'hasOwnProperty',
        'length',
        'undefined',
        'null',
        `${header.kid} `,
        ` ${header.kid}`,
      ],
      ...[
        `${header.kid}\0`,
        `${header.kid}\n`,
        String(header.kid).toLowerCase(),
        String(header.kid).toUpperCase(),
        'k'.repeat(2_000),
      ],
      ...['\u202e', '😀', '\ud800'],
    ].filter((kid) => kid !== header.kid),
    (kid) => `kid ${JSON.stringify(kid).slice(0, 40)}`,
    (kid) => signed({ ...header, kid }, claims),
  ),
  ...named(
    [null, 0, true, [], [header.kid], {}, { kid: header.kid }],
    (kid) => `kid ${JSON.stringify(kid)}`,
    (kid) => signed({ ...header, kid }, claims),
  ),
  ['no kid', signed(without(header, 'kid'), claims)],
  // Our own key, but for another purpose.
  ...named(
    [undefined, '', 'JWT', 'jwt', 'at+jwt', 'voice', null, 1, ['voice+jwt'], 'voice+jwt '],
    (typ) => `typ ${JSON.stringify(typ)}`,
    (typ) => signed({ ...header, typ }, claims),
  ),
  ...named(
    [['exp'], ['b64'], ['x'], [], 'exp', [1]],
    (crit) => `crit ${JSON.stringify(crit)}`,
    (crit) => signed({ ...header, crit }, claims),
  ),
  ['b64 false', signed({ ...header, b64: false, crit: ['b64'] }, claims)],
  [
    'zip',
    `${encode({ ...header, zip: 'DEF' })}.${deflateRawSync(JSON.stringify(claims)).toString('base64url')}.${signature}`,
  ],
  ...named(
    [
      undefined,
      '',
      'http://elsewhere',
      `${claims.iss}/`,
      String(claims.iss).toUpperCase(),
      `${claims.iss}.evil.test`,
      null,
      1,
      [claims.iss, 'x'],
      {},
    ],
    (iss) => `iss ${JSON.stringify(iss)}`,
    (iss) => signed(header, { ...claims, iss }),
  ),
  ...named(
    [undefined, '', 'messages', 'Voice', 'voice ', null, 1, [], ['messages'], {}],
    (aud) => `aud ${JSON.stringify(aud)}`,
    (aud) => signed(header, { ...claims, aud }),
  ),
  ...named(
    [undefined, null, 0, 1, -1, now - 1, now - 86_400, String(exp), `${exp}`, '', true, [exp], { exp }, -exp],
    (at) => `exp ${JSON.stringify(at)}`,
    (at) => signed(header, { ...claims, exp: at }),
  ),
  ...named(
    [now + 3_600, now + 10 ** 9, String(iat), null, true, []],
    (nbf) => `nbf ${JSON.stringify(nbf)}`,
    (nbf) => signed(header, { ...claims, nbf }),
  ),
  ...named(
    [
      undefined,
      '',
      null,
      1,
      [ada],
      {},
      'USRnonsense',
      ada.slice(3),
      account.uuid,
      `${ada} `,
      `${ada}\0`,
      'USR__proto__',
    ],
    (sub) => `sub ${JSON.stringify(sub)}`,
    (sub) => signed(header, { ...claims, sub }),
  ),
  ...named(
    [undefined, '', null, 1, [account.uuid], {}, 'ACCnonsense', account.uuid.slice(3), ada, `${account.uuid} `],
    (uuid) => `account ${JSON.stringify(uuid)}`,
    (uuid) => signed(header, { ...claims, account_uuid: uuid }),
  ),
  ...named(
    [1, [], {}, true],
    (label) => `label ${JSON.stringify(label)}`,
    (label) => signed(header, { ...claims, label }),
  ),
  ['no jti', signed(header, without(claims, 'jti'))],
  ...named(
    ['null', '[]', '1', '"text"', '', '{', '{"exp":}', '\u0000'],
    (payload) => `the payload ${JSON.stringify(payload)}`,
    (payload) => signed(header, payload),
  ),
  ...named(
    ['null', '[]', '1', '"text"', '{', '{"alg":"EdDSA",}'],
    (top) => `the header ${top}`,
    (top) => signed(top, claims),
  ),
  // The last of two claims of one name counts: a past expiry.
  ['a claim twice', signed(header, `${JSON.stringify(claims).slice(0, -1)},"exp":1}`)],
  [
    'a changed claim under the old signature',
    `${head}.${encode({ ...claims, sub: stranger, account_uuid: other.uuid })}.${signature}`,
  ],
  ['a later expiry under the old signature', `${head}.${encode({ ...claims, exp: exp + 9_999 })}.${signature}`],
  ['a claim added under the old signature', `${head}.${encode({ ...claims, admin: true })}.${signature}`],
  ['a header added under the old signature', `${encode({ ...header, a: 1 })}.${body}.${signature}`],
  // Other encodings of a valid token.
  ...[1, 2, 3, 7, 8, 15].flatMap((bits): [string, string][] => {
    const [, second = ''] = padded(2).split('.')
    const [wide = '', widest = ''] = [padded(1), second]
    const [top, payload = '', last] = wide.split('.')
    return [
      [`bits ${bits} behind the signature`, `${head}.${body}.${trailing(signature, bits) ?? `${signature}A`}`],
      [`bits ${bits} behind the header`, `${trailing(head, bits) ?? `${head}A`}.${body}.${signature}`],
      [`bits ${bits} behind the payload of one byte more`, `${top}.${trailing(payload, bits)}.${last}`],
      [
        `bits ${bits} behind the payload of two bytes more`,
        padded(2).replace(widest, trailing(widest, bits) ?? `${widest}A`),
      ],
    ]
  }),
  ...named(
    ['=', '==', '===', '====', '.', '..', 'A', 'AAAA', '%', '\t', '~', '+', '/', '-', '_'],
    (tail) => `${JSON.stringify(tail)} behind the token`,
    (tail) => good + tail,
  ),
  ...named(
    ['.', 'A', '=', '~', '..'],
    (start) => `${JSON.stringify(start)} before the token`,
    (start) => start + good,
  ),
  ...named(
    ['=', '==', '~', '+', '/', '.'],
    (sign) => `${sign} behind the payload`,
    (sign) => `${head}.${body}${sign}.${signature}`,
  ),
  ...named(
    ['=', '==', '~', '+', '/', '.'],
    (sign) => `${sign} behind the header`,
    (sign) => `${head}${sign}.${body}.${signature}`,
  ),
  ['base64 instead of base64url', `${head}.${body}.${Buffer.from(signature, 'base64url').toString('base64')}`],
  ['a space within', `${head}. ${body}.${signature}`],
  ['the signature twice', `${good}.${signature}`],
  ['five parts', `${head}.${body}.${signature}.${body}.${signature}`],
  ['no signature', `${head}.${body}.`],
  ['two parts', `${head}.${body}`],
  ['one part', head],
  ['three empty parts', '..'],
  ['a cut signature', good.slice(0, -4)],
  ['half of a signature', `${head}.${body}.${signature.slice(0, 43)}`],
  ['a signature of others’ text', `${head}.${body}.${signed(header, { ...claims, exp: exp + 1 }).split('.')[2]}`],
  ['JSON serialization', encode({ protected: head, payload: body, signature })],
  [
    'an encrypted token',
    await new EncryptJWT(claims)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(Buffer.from(row.public_jwk.x, 'base64url')),
  ],
  ['3,900 letters', 'a'.repeat(3_900)],
]

const statusOf = async (authorization: string): Promise<number> => {
  const answer = await app.inject({
    method: 'POST',
    url: '/open/sdk/credentials',
    headers: { authorization },
    payload: {},
  })
  return answer.statusCode
}

test('a valid token is accepted before and after the forged ones', async () => {
  assert.equal(await statusOf(`Bearer ${good}`), 200)
  // The signing function of the forgeries makes valid tokens, too.
  assert.equal(await statusOf(`Bearer ${signed(header, claims)}`), 200)
  for (const size of [1, 2] as const) assert.equal(await statusOf(`Bearer ${padded(size)}`), 200)
})

test('a token for a user of another account gives no access', async () => {
  assert.equal(await statusOf(`Bearer ${signed(header, { ...claims, sub: stranger })}`), 403)
  assert.equal(await statusOf(`Bearer ${signed(header, { ...claims, account_uuid: other.uuid })}`), 403)
})

test(`${forgeries.length} forged tokens are refused with 401`, async (t) => {
  const different = new Set(forgeries.map(([, token]) => token)).delete(good)
  assert.equal(different, false, 'a forgery equals the valid token')
  assert.ok(new Set(forgeries.map(([, token]) => token)).size >= 100)
  const taken: string[] = []
  for (const [name, token] of forgeries) if ((await statusOf(`Bearer ${token}`)) !== 401) taken.push(name)
  assert.deepEqual(taken, [])
  for (const scheme of ['', 'Basic ', 'Bearer', 'Digest ', 'Bearer Bearer '])
    assert.equal(await statusOf(scheme + good), 401)
  assert.equal(await statusOf(`Bearer ${good}`), 200)
  t.diagnostic(`${new Set(forgeries.map(([, token]) => token)).size} different forgeries`)
})
