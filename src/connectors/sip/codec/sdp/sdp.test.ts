import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, answerDirection, candidatesOf, codecsOf, directionOf, ptimeOf, securityOf } from './media.ts'
import { describe, negotiate, opus, pcma, pcmu, plainAudio, refused } from './negotiate.ts'
import { attribute, type Media, printSdp, readSdp, type Sdp, SdpError, sanitised } from './sdp.ts'

/** As Chromium writes it, shortened. */
const browser = `v=0
o=- 4611731400430051336 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0
a=msid-semantic: WMS stream
m=audio 54609 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
c=IN IP4 192.0.2.7
b=AS:64
a=rtcp:9 IN IP4 0.0.0.0
a=candidate:1510613869 1 udp 2122260223 192.0.2.7 54609 typ host generation 0 network-id 1
a=candidate:344579997 1 TCP 1518280447 2001:db8::7 9 typ srflx raddr 192.0.2.7 rport 9 tcptype active
a=candidate:nonsense
a=ice-ufrag:ETEn
a=ice-pwd:OtSK0WpNtpUjkY4+86js7Z/l
a=fingerprint:sha-256 19:E2:1C:3B:4B:9F:81:E6
a=setup:actpass
a=mid:0
a=sendrecv
a=rtcp-mux
a=rtpmap:111 opus/48000/2
a=fmtp:111 minptime=10;useinbandfec=1
a=rtpmap:63 red/48000/2
a=rtpmap:110 telephone-event/48000
a=rtpmap:126 telephone-event/8000
a=ssrc:1 cname:x
`

const carrier = `v=0\r\no=root 1 1 IN IP4 198.51.100.1\r\ns=call\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\nm=audio 11000 RTP/AVP 8 0 101\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-16\r\na=ptime:20\r\na=rtcp:11001\r\nm=video 0 RTP/AVP 31\r\n`

const audio = (sdp: Sdp): Media => {
  const [media] = sdp.media
  assert.ok(media)
  return media
}

test('an offer of a browser is read: codecs, candidates, protection', () => {
  const sdp = readSdp(browser)
  const media = audio(sdp)
  assert.deepEqual(
    codecsOf(media).map(({ payload, name, rate }) => `${payload} ${name}/${rate}`),
    ['111 opus/48000', '63 red/48000', '9 G722/8000', '0 PCMU/8000', '8 PCMA/8000', '13 CN/8000'].concat([
      '110 telephone-event/48000',
      '126 telephone-event/8000',
    ]),
  )
  assert.equal(codecsOf(media)[0]?.parameters, 'minptime=10;useinbandfec=1')
  const candidates = candidatesOf(media)
  assert.equal(candidates.length, 2)
  assert.deepEqual(candidates[1]?.related, { address: '192.0.2.7', port: 9 })
  assert.equal(candidates[1]?.transport, 'tcp')
  assert.deepEqual(securityOf(sdp, media), {
    ice: { ufrag: 'ETEn', password: 'OtSK0WpNtpUjkY4+86js7Z/l', lite: false },
    fingerprint: { hash: 'sha-256', value: '19:E2:1C:3B:4B:9F:81:E6' },
    setup: 'actpass',
    muxed: true,
  })
  assert.equal(addressOf(sdp, media), '192.0.2.7')
})

test('what is read is printed again, line by line', () => {
  assert.equal(printSdp(readSdp(browser)), sanitisedLines(browser))
  assert.equal(printSdp(readSdp(carrier)), carrier)
})
const sanitisedLines = (text: string) => text.replaceAll('\n', '\r\n')

test('each side gets the payload types that it gave', () => {
  const [ours, theirs] = [codecsOf(audio(readSdp(browser))), codecsOf(audio(readSdp(carrier)))]
  const a = negotiate(ours, [pcmu, pcma])
  const b = negotiate(theirs, [pcmu, pcma])
  assert.deepEqual([a?.audio.payload, a?.events?.payload], [0, 126])
  assert.deepEqual([b?.audio.payload, b?.events?.payload], [0, 101])
  assert.deepEqual([negotiate(theirs, [pcma])?.audio.payload, negotiate(theirs, [opus])], [8, null])
  assert.deepEqual([negotiate(ours, [opus, pcmu])?.audio.payload, negotiate(ours, [opus])?.events?.payload], [111, 110])
})

test('hold is seen in every form, and answered in kind', () => {
  const held = (text: string) => {
    const sdp = readSdp(text)
    return directionOf(sdp, audio(sdp))
  }
  assert.equal(held(carrier), 'sendrecv')
  assert.equal(held(browser.replace('a=sendrecv', 'a=sendonly')), 'sendonly')
  assert.equal(held(carrier.replace('t=0 0\r\n', 't=0 0\r\na=inactive\r\n')), 'inactive')
  assert.equal(held(carrier.replace('c=IN IP4 198.51.100.1', 'c=IN IP4 0.0.0.0')), 'sendonly')
  assert.equal(held(browser.replace('192.0.2.7\nb', '0.0.0.0\nb')), 'sendrecv')
  assert.deepEqual(
    (['sendrecv', 'sendonly', 'recvonly', 'inactive'] as const).map((offered) => answerDirection(offered)),
    ['sendrecv', 'recvonly', 'sendonly', 'inactive'],
  )
  assert.equal(answerDirection('sendrecv', 'sendonly'), 'sendonly')
})

test('a description of ours reads as it was meant; a refused stream keeps its place', () => {
  const offered = readSdp(carrier)
  const agreed = negotiate(codecsOf(audio(offered)), [pcmu])
  assert.ok(agreed?.events)
  const [, video] = offered.media
  assert.ok(video)
  const stream = plainAudio(30_000, [agreed.audio, agreed.events], 'sendonly')
  const answer = readSdp(printSdp(describe('2001:db8::1', '7', 2, [stream, refused(video)])))
  assert.deepEqual(codecsOf(audio(answer)), [agreed.audio, agreed.events])
  assert.equal(directionOf(answer, audio(answer)), 'sendonly')
  assert.equal(ptimeOf(audio(answer)), 20)
  assert.equal(answer.address, '2001:db8::1')
  assert.deepEqual([answer.media[1]?.kind, answer.media[1]?.port], ['video', 0])
})

test('what werift cannot read is left out, and nothing else', () => {
  const text = sanitised(carrier)
  assert.equal(text, carrier.replace('a=rtcp:11001\r\n', ''))
  assert.equal(attribute(audio(readSdp(sanitised(browser))), 'rtcp'), '9 IN IP4 0.0.0.0')
})

const broken: [string, string][] = [
  ['nothing', ''],
  ['another version', carrier.replace('v=0', 'v=1')],
  ['no origin', carrier.replace(/o=.*\r\n/, '')],
  ['a port that is none', carrier.replace('11000', '99999')],
  ['a connection that is none', carrier.replace('c=IN IP4', 'c=X')],
  ['a line that is none', carrier.replace('m=video', 'm =video')],
  ['too many streams', carrier + 'm=audio 1 RTP/AVP 0\r\n'.repeat(40)],
  ['too many lines', carrier + 'a=x\r\n'.repeat(3000)],
]
for (const [what, text] of broken)
  test(`SDP with ${what} is refused`, () => assert.throws(() => readSdp(text), SdpError))
