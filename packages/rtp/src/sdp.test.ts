import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AudioDescription, readAudio, writeAudio } from './sdp.ts'

const offer = [
  'v=0',
  'o=- 1 1 IN IP4 192.0.2.1',
  's=-',
  'c=IN IP4 192.0.2.1',
  't=0 0',
  'm=video 4000 RTP/AVP 96',
  'a=rtpmap:96 VP8/90000',
  'm=audio 5000 RTP/AVP 0 8 101',
  'c=IN IP4 192.0.2.2',
  'a=rtpmap:101 telephone-event/8000',
  'a=rtcp:5077',
  'a=sendonly',
  '',
]
const read = (lines: readonly string[]): AudioDescription => {
  const audio = readAudio(lines.join('\r\n'))
  if (typeof audio === 'string') throw new Error(audio)
  return audio
}

test('readAudio reads static payload types, the address of the stream, and a=rtcp with a port only', () => {
  const audio = read(offer)
  assert.deepEqual([audio.address, audio.port, audio.rtcpPort, audio.index], ['192.0.2.2', 5_000, 5_077, 1])
  assert.deepEqual(
    audio.formats.map(({ type, name, clock }) => `${type} ${name} ${clock}`),
    ['0 pcmu 8000', '8 pcma 8000', '101 telephone-event 8000'],
  )
  assert.equal(audio.direction, 'sendonly')
})

test('readAudio refuses host names unless ICE provides the address', () => {
  const named = offer.join('\r\n').replace('192.0.2.2', 'media.carrier.test')
  assert.equal(readAudio(named), 'c= must be an IP address, not media.carrier.test')
  const security = ['a=ice-ufrag:abcd', 'a=ice-pwd:a password of ICE', 'a=fingerprint:sha-256 AB:CD', '']
  assert.equal(read([...named.split('\r\n'), ...security]).address, 'media.carrier.test')
  assert.equal(read(offer.map((line) => line.replace('IP4 192.0.2.2', 'IP6 2001:db8::2'))).address, '2001:db8::2')
})

test('an answer has all media of the offer and refuses those other than its audio', () => {
  const answer = writeAudio({
    id: '1',
    version: 0,
    address: '198.51.100.1',
    port: 6_000,
    rtcpPort: 6_001,
    isMuxed: false,
    direction: 'recvonly',
    protocol: 'RTP/AVP',
    formats: [{ type: 0, name: 'pcmu', clock: 8_000, parameters: '' }],
    ssrc: 1,
    name: 'name',
    security: null,
    offer: read(offer),
  })
  assert.deepEqual(answer.match(/^m=.*$/gm), ['m=video 0 RTP/AVP 96', 'm=audio 6000 RTP/AVP 0'])
  assert.equal(read(answer.split('\r\n')).direction, 'recvonly')
})

const browser = `v=0
o=- 4611731400430051336 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0
m=audio 54609 UDP/TLS/RTP/SAVPF 111 63 9 0 126
c=IN IP4 192.0.2.7
a=rtcp:9 IN IP4 0.0.0.0
a=candidate:nonsense
a=ice-ufrag:ETEn
a=ice-pwd:OtSK0WpNtpUjkY4+86js7Z/l
a=fingerprint:sha-256 19:e2:1C:3B
a=setup:actpass
a=mid:0
a=sendrecv
a=rtcp-mux
a=rtpmap:111 opus/48000/2
a=fmtp:111 minptime=10;useinbandfec=1
a=rtpmap:126 telephone-event/8000
`.split('\n')

test('readAudio reads formats, parameters and security of a browser offer', () => {
  const audio = read(browser)
  assert.deepEqual(
    [audio.protocol, audio.mid, audio.isMuxed, audio.direction],
    ['UDP/TLS/RTP/SAVPF', '0', true, 'sendrecv'],
  )
  assert.deepEqual(
    audio.formats.map(({ type, name, parameters }) => `${type} ${name} ${parameters}`),
    ['111 opus minptime=10;useinbandfec=1', '0 pcmu ', '126 telephone-event '],
  )
  assert.deepEqual(audio.security, {
    ufrag: 'ETEn',
    password: 'OtSK0WpNtpUjkY4+86js7Z/l',
    fingerprints: [{ algorithm: 'sha-256', value: '19:E2:1C:3B' }],
    setup: 'actpass',
  })
})

test('readAudio detects every form of hold', () => {
  const said = (lines: readonly string[], ...changes: [string, string][]) =>
    read(lines.map((line) => changes.reduce((text, [from, to]) => text.replace(from, to), line))).direction
  assert.equal(said(offer), 'sendonly')
  assert.equal(said(offer, ['a=sendonly', 'a=x']), 'sendrecv')
  assert.equal(said(offer, ['a=sendonly', 'a=x'], ['s=-', 's=-\r\na=inactive']), 'inactive')
  const zero: [string, string] = ['192.0.2.2', '0.0.0.0']
  assert.equal(said(offer, zero, ['a=sendonly', 'a=sendrecv']), 'sendonly')
  assert.equal(said(offer, zero, ['a=sendonly', 'a=recvonly']), 'inactive')
  assert.equal(said(browser, ['192.0.2.7', '0.0.0.0']), 'sendrecv', 'a browser before ICE gathering')
})

test('a description without audio yields an error text', () => {
  assert.equal(readAudio(''), 'the session description has no audio')
  assert.match(String(readAudio('v=0\r\nm=audio 99999 RTP/AVP 0\r\n')), /port 99999/)
  assert.match(String(readAudio('v=0\r\nm=audio 5000 RTP/AVP 0\r\n')), /no address/)
  assert.match(String(readAudio(`v=0\r\n${'m=audio 1 RTP/AVP 0\r\n'.repeat(40)}`)), /more than 32 media/)
  assert.match(String(readAudio('x'.repeat(70_000))), /at most 65536 bytes/)
})

test('a disabled audio stream and a multicast address yield an error text', () => {
  const with_ = (from: string, to: string) => String(readAudio(offer.join('\r\n').replaceAll(from, to)))
  assert.match(with_('m=audio', 'm=image'), /no audio/)
  assert.match(String(readAudio('v=0\r\nc=IN IP4 192.0.2.2\r\nm=audio 0 RTP/AVP 0\r\n')), /no audio/)
  for (const group of ['IP4 224.2.1.1/127', 'IP4 239.255.255.255', 'IP6 ff15::101', 'IP4 255.255.255.255'])
    assert.match(with_('IP4 192.0.2.2', group), /address of one host/)
})

test('readAudio never throws', () => {
  const line = fc.oneof(
    fc.constantFrom(...offer),
    fc.string(),
    fc.constantFrom('m=audio', 'm=audio 1', 'a=rtcp:', 'c='),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), (lines) => void readAudio(lines.join('\r\n'))),
    { numRuns: 2_000 },
  )
})

test('white space at the ends of lines has no meaning', () => {
  const text = [
    'v=0',
    'c=IN IP4 192.0.2.1 ',
    'm=audio 5000 RTP/AVP 0 ',
    'a=rtpmap:0 PCMU/8000\t',
    'a=sendonly ',
    '',
  ].join('\r\n')
  const audio = readAudio(text)
  assert.ok(typeof audio !== 'string')
  assert.deepEqual(
    [audio.direction, audio.address, audio.formats.map(({ name }) => name)],
    ['sendonly', '192.0.2.1', ['pcmu']],
  )
})
