import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openProcessor, openRtpengine, startRtpengine } from '../../../../test/media/rtpengine.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { needs } from '../../../../test/needs.ts'
import { until } from '../../../../test/platform.ts'
import { connectPeers, logEvents, mediaSuite, unwrap } from '../media.conformance.ts'
import { soundSuite } from '../sounds.conformance.ts'
import { decode, encode } from './bencode.ts'
import { startRtpengineEngine } from './rtpengine-engine.ts'
import { filterSdp, withDirection } from './sdp-filter.ts'

describe('rtpengine', needs('rtpengine'), () => {
  test('when the daemon dies, its calls fail with a reason, and the next one is refused with a reason', async () => {
    const daemon = await startRtpengine()
    const { port, dtmfPort, recordings } = daemon
    const dtmf = { address: '127.0.0.1', port: dtmfPort }
    const processor = await openProcessor()
    const engine = await startRtpengineEngine({ address: '127.0.0.1', port, dtmf, recordings, calls: 1, processor })
    const [one, other] = [await makeTelephone(), await makeTelephone()]
    const { call, log } = await connectPeers(engine, [one, 'rtp'], [other, 'rtp'])
    const full = await engine.openCall(logEvents().events)
    assert.equal(full.outcome === 'refused' && full.cause, 'full')
    await daemon.stop()
    await until(async () => log.failures.length > 0)
    assert.match(log.failures[0] ?? '', /^null: rtpengine at 127.0.0.1:\d+ does not answer/)
    await call.close()
    const next = unwrap(await engine.openCall(logEvents().events))
    const legOptions = { kind: 'rtp', codecs: ['pcmu'] } as const
    const caller = unwrap(await next.addLeg({ id: 'caller', offer: await one.offer(), ...legOptions }))
    const callee = unwrap(await next.addLeg({ id: 'callee', offer: null, ...legOptions }))
    unwrap(await next.bridge(caller, callee))
    const described = await callee.describe()
    assert.match(described.outcome === 'refused' ? described.reason : '', /does not answer/)
    await Promise.all([engine.close(), one.close(), other.close()])
  })

  mediaSuite(openRtpengine)
  soundSuite(openRtpengine)
})

test('bencoded values survive a round trip, and other input is refused', () => {
  const value = { list: ['a', 5, -7, { é: '' }], sdp: 'v=0\r\n' }
  assert.deepEqual(decode(encode(value)), value)
  assert.equal(encode({ b: 'x', a: 3 }).toString(), 'd1:ai3e1:b1:xe')
  for (const text of ['', 'i5', 'ixe', '5:abc', 'l', 'd1:a', 'd1:ae', 'l'.repeat(100)])
    assert.throws(() => decode(Buffer.from(text)), /bencode/)
})

test('a description is filtered to the requested codecs', () => {
  const text = [
    'v=0',
    'c=IN IP4 192.0.2.1',
    'm=audio 5000 RTP/AVP 111 9 0 126 110',
    'a=rtpmap:111 opus/48000/2',
    'a=fmtp:111 useinbandfec=1',
    'a=rtpmap:126 telephone-event/8000',
    'a=rtpmap:110 telephone-event/48000',
    '',
  ].join('\r\n')
  const narrowed = filterSdp(text, ['pcmu'])
  assert.ok('text' in narrowed)
  assert.match(narrowed.text, /^m=audio 5000 RTP\/AVP 0 126\r$/m)
  assert.doesNotMatch(narrowed.text, /opus|48000|:111/)
  assert.deepEqual(filterSdp('v=0', ['pcmu']), { cause: 'description', reason: 'the session description has no audio' })
})

test('in a description with two streams, the active one is put on hold', () => {
  const stream = (port: number) => [`m=audio ${port} RTP/AVP 0`, 'a=sendrecv']
  const text = ['v=0', 'c=IN IP4 192.0.2.1', ...stream(5_000), ...stream(0), ''].join('\r\n')
  const held = withDirection(text, 'sendonly').split('\r\n').slice(2)
  assert.deepEqual(held, ['m=audio 5000 RTP/AVP 0', 'a=sendonly', 'm=audio 0 RTP/AVP 0', ''])
})
