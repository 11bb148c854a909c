import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fields from './fields.ts'
import { header, withHeader } from './message.ts'
import { MessageFramer } from './message-framer.ts'
import { maxMessageLength, parseMessage } from './parse.ts'
import { printMessage } from './print.ts'
import { escapeUser, printUri, readUri, userOf } from './uri.ts'
import { invite, octets, readMessage, readRequest } from './user-agent/testing.ts'

test('every header of a call is read by its grammar', () => {
  const message = readRequest(invite)
  assert.deepEqual(fields.viasOf(message).map(fields.printVia), [
    'SIP/2.0/UDP 192.0.2.1:5060;rport;branch=z9hG4bKa1',
    'SIP/2.0/TLS [2001:db8::1]:5061;branch=z9hG4bKa0',
    'SIP/2.0/WSS df7jal23ls0d.invalid;branch=z9hG4bK00',
  ])
  assert.equal(fields.fromOf(message).name, 'Ann "A" Bee, Ltd')
  assert.equal(fields.tagOf(fields.fromOf(message)), 'abc')
  assert.equal(fields.tagOf(fields.toOf(message)), null)
  const contacts = fields.contactsOf(message)
  assert.ok(contacts !== '*' && contacts[0])
  assert.equal(contacts[0].uri, 'sip:us@192.0.2.1:5060;transport=udp;lr')
  assert.equal(contacts[0].params.get('+sip.instance'), '<urn:uuid:0-1>')
  assert.equal(fields.expiresOf(message, contacts[0]), 60)
  assert.deepEqual(
    fields.routesOf(message, 'Record-Route').map(({ uri }) => uri),
    ['sip:p1.test;lr', 'sip:p2.test:5070;lr'],
  )
  assert.deepEqual(fields.sessionExpiresOf(message), { seconds: 1800, refresher: 'uac' })
  assert.equal(fields.minSeOf(message), 90)
  assert.deepEqual(fields.tokensOf(message, 'Supported'), ['timer', '100rel'])
  assert.equal(header(message, 'subject'), 'one line more')
  assert.equal(message.body.toString(), 'v=0\r')
})

test('a printed address reads back the same', () => {
  const address = { name: 'a "b" \\ c', uri: 'sip:x@y', params: new Map([['tag', 'a b']]) }
  assert.deepEqual(fields.readNameAddr(fields.printNameAddr(address)), address)
})

test('URIs keep every part, and `userOf` removes the escapes', () => {
  for (const text of [
    'sip:example.org',
    'sips:%2B1@[2001:db8::9]:5061;transport=tcp;lr?Subject=a%20b',
    'sip:+1-212-555-1212;phone-context=x@gw.test;user=phone',
    'sip:192.0.2.4:5062',
  ])
    assert.equal(printUri(readUri(text)), text)
  assert.equal(userOf(readUri('sip:%2B1%20a@h')), '+1 a')
  assert.equal(userOf(readUri(`sip:${escapeUser('+1 a@b:é#')}@h`)), '+1 a@b:é#')
})

for (const bad of [
  ...['sip:', 'sip:@h', 'sip:a@', 'sip:a b@h', 'sip:a@h:99999', 'sip:a@h:x', 'sip:a@[::1', 'sip:a@[zz]', 'sip:a@1.2.3'],
  ...['sip:a@-h', 'sip:a@h;', 'sip:a@h;lr;lr', 'sip:a@h;x=', 'sip:a%zz@h', 'sip:a@b@c', 'tel:+1'],
])
  test(`${bad} is not a SIP URI`, () => assert.throws(() => readUri(bad), { name: 'Error' }))

const changed = (from: string | RegExp, to: string) => parseMessage(octets(invite.replace(from, to)))

const refusals: [string, string | RegExp, string][] = [
  ['a missing From', /^f: .*\n/m, ''],
  ['a repeated To', 'To:', 'To: <sip:other@x>\nTo:'],
  ['a tag without a value', 'tag=abc', 'tag'],
  ['a repeated tag', 'tag=abc', 'tag=abc;tag=b'],
  ['a missing Via', /^[Vv](?:ia)?: .*\n/gm, ''],
  ['a Via without a branch value', 'branch=z9hG4bKa1', 'branch='],
  ['a Max-Forwards above 255', 'Max-Forwards: 68', 'Max-Forwards: 256'],
  ['a CSeq above 2^31', 'CSeq: 42', 'CSeq: 2147483648'],
  ['a CSeq of another method', '42 INVITE', '42 BYE'],
  ['an unclosed Contact', '<sip:us@', '<<sip:us@'],
  ['a body shorter than Content-Length', 'l: 4', 'l: 4000'],
  ['a header without a name', 'Subject: one', ': one'],
  ['a header with a space in its name', 'Subject: one', 'Sub ject: one'],
]
for (const [what, from, to] of refusals)
  test(`${what} is refused`, () => assert.equal(changed(from, to).kind, 'malformed'))

test('a refused request can be answered while its core headers are valid', () => {
  const bad = changed('Max-Forwards: 68', 'Max-Forwards: 256')
  assert.ok(bad.kind === 'malformed' && bad.request)
  assert.equal(fields.callIdOf(bad.request), '3848276298220188511@us.test')
  const worse = changed(/^f: .*\n/m, '')
  assert.ok(worse.kind === 'malformed' && worse.request === null)
})

test('a bare line feed or carriage return in the head is refused, because it could hide a header', () => {
  for (const trick of ['a\nContact: <sip:x@y>', 'a\rb'])
    assert.equal(parseMessage(Buffer.from(octets(invite).toString().replace('one', trick))).kind, 'malformed')
})

test('a message of more than 64 KiB or of more than 200 headers is refused', () => {
  const long = parseMessage(Buffer.concat([octets(invite), Buffer.alloc(maxMessageLength)]))
  assert.ok(long.kind === 'malformed' && long.status === 513)
  assert.equal(changed('Subject: one', Array.from({ length: 200 }, (_, i) => `X-${i}: 1`).join('\n')).kind, 'malformed')
})

test('a malformed Expires counts as one hour', () => {
  const message = readMessage(invite.replace(';expires=60', ';expires=soon'))
  const contacts = fields.contactsOf(message)
  assert.ok(contacts !== '*')
  assert.equal(fields.expiresOf(message, contacts[0]), 3600)
})

test('a value with a line break is never printed', () => {
  const message = withHeader(readRequest(invite), 'Subject', 'a\r\nRoute: <sip:evil@x>')
  assert.throws(() => printMessage(message), TypeError)
})

test('a stream is split by Content-Length in chunks of any size, and pings are reported', () => {
  const one = printMessage(readMessage(invite))
  const stream = Buffer.concat([octets('\n\n'), one, octets('\n'), one, octets('\n\n'), one])
  for (const size of [1, 2, 3, 7, 100, 1000, 5000]) {
    const got: Buffer[] = []
    let pings = 0
    const frames = new MessageFramer(
      (octets) => got.push(Buffer.from(octets)),
      () => pings++,
    )
    for (let at = 0; at < stream.length; at += size) assert.ok(frames.push(stream.subarray(at, at + size)))
    assert.equal(got.length, 3)
    for (const message of got) assert.deepEqual(readMessage(message), readMessage(one))
    assert.equal(pings, 2)
  }
})

test('a stream that loses its framing is reported and buffers no more than one message', () => {
  const frames = () =>
    new MessageFramer(
      () => {},
      () => {},
    )
  assert.equal(frames().push(octets('OPTIONS sip:a SIP/2.0\nTo: x\n\n')), false)
  assert.equal(frames().push(octets('OPTIONS sip:a SIP/2.0\nContent-Length: -1\n\n')), false)
  assert.equal(frames().push(octets(`OPTIONS sip:a SIP/2.0\nContent-Length: ${maxMessageLength}\n\n`)), false)
  const endless = frames()
  let room = true
  for (let sent = 0; room && sent < 4 * maxMessageLength; sent += 1000) room = endless.push(Buffer.alloc(1000, 'a'))
  assert.equal(room, false)
})
