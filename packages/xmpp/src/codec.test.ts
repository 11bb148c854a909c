import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeScram } from './scram.ts'
import { StreamParseError, StreamParser } from './stream-parser.ts'
import { child, serialize, textOf, type XmlElement, xml } from './xml.ts'

const header =
  "<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>"

const read = (...chunks: (string | Buffer)[]) => {
  const stanzas: XmlElement[] = []
  const cuts: boolean[] = []
  let closed = false
  const reader = new StreamParser({
    opened: () => {},
    stanza: (stanza, cut) => {
      stanzas.push(stanza)
      cuts.push(cut)
    },
    closed: () => {
      closed = true
    },
  })
  for (const chunk of [header, ...chunks]) reader.write(Buffer.from(chunk))
  return { stanzas, cuts, closed }
}

test('serialised elements are parsed back with any text', () => {
  const text = 'a < b & "c" \' ]]> \r\n\t\u0000 👍 \ud800 ￾'
  const element = xml('message', '', { id: text }, xml('body', '', {}, text), xml('x', 'urn:x', {}, xml('y', 'urn:y')))
  const [back] = read(serialize(element)).stanzas
  assert.ok(back)
  const expected = 'a < b & "c" \' ]]> \r\n\t\ufffd 👍 \ufffd \ufffd'
  assert.equal(back.attrs.id, expected)
  assert.equal(textOf(child(back, 'body', '')), expected)
  assert.equal(serialize(back), serialize({ ...element, attrs: { id: expected }, children: back.children }))
})

test('stanzas are parsed however the bytes are split', () => {
  const text = "<message id='1'><body>grün 👍</body></message> <iq type='get' id='2'/></stream:stream>"
  const bytes = Buffer.from(text)
  const whole = JSON.stringify(read(bytes))
  for (let at = 1; at < bytes.length; at++) {
    assert.equal(JSON.stringify(read(bytes.subarray(0, at), bytes.subarray(at))), whole)
  }
  assert.equal(read(bytes).closed, true)
})

test('documents, entities, comments, instructions and broken markup end the stream', () => {
  for (const evil of [
    '<!DOCTYPE a [<!ENTITY b "c">]><message/>',
    '<message><body>&b;</body></message>',
    '<message><!-- a --></message>',
    '<message><?php ?></message>',
    '<message><body></message>',
    "<message a='1' a='2'/>",
    '<x:message/>',
    Buffer.from([0x3c, 0x61, 0xff, 0xfe]),
    '<message>\u0000</message>',
  ]) {
    assert.throws(() => read(evil), StreamParseError, String(evil))
  }
})

test('a stanza that is too large or too deep is dropped, and the next one arrives', () => {
  const large = `<message id='large'><body>${'x'.repeat(1_100_000)}</body></message>`
  const deep = `<message id='deep'>${'<a>'.repeat(100)}${'</a>'.repeat(100)}</message>`
  const wide = `<message id='wide'>${'<a/>'.repeat(30_000)}</message>`
  const { stanzas, cuts } = read(large, deep, wide, "<message id='next'><body>b</body></message>")
  assert.deepEqual(
    stanzas.map(({ attrs, children }) => [attrs.id, children.length]),
    [
      ['large', 0],
      ['deep', 0],
      ['wide', 0],
      ['next', 1],
    ],
  )
  assert.deepEqual(cuts, [true, true, true, false])
  assert.throws(() => read(...Array.from({ length: 5 }, () => `<m>${'y'.repeat(1 << 20)}`)), StreamParseError)
})

// RFC 5802, 5, and RFC 7677, 3.
const exchanges = [
  {
    mechanism: 'SCRAM-SHA-1',
    nonce: 'fyko+d2lbbFgONRv9qkxdawL',
    challenge: 'r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096',
    proof: 'v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=',
    final: 'v=rmF9pqV8S7suAoZWja4dJRkFsKQ=',
  },
  {
    mechanism: 'SCRAM-SHA-256',
    nonce: 'rOprNGfwEbeRWgbNEkqO',
    challenge: 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
    proof: 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
    final: 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
  },
] as const

for (const { mechanism, nonce, challenge, proof, final } of exchanges) {
  test(`${mechanism} matches the standard's example and detects a server that does not know the password`, async () => {
    const scram = makeScram(mechanism, 'user', 'pencil', nonce)
    assert.equal(scram.first, `n,,n=user,r=${nonce}`)
    assert.ok((await scram.answer(challenge)).endsWith(`,p=${proof}`))
    scram.verify(final)
    assert.throws(() => scram.verify('v=AAAA'))
    assert.throws(() => scram.verify(''))
    await assert.rejects(scram.answer('r=other,s=QSXCR+Q6sek8bf92,i=4096'))
    await assert.rejects(scram.answer(challenge.replace('i=4096', 'i=99999999')))
  })
}
