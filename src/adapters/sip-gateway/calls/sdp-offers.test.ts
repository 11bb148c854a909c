import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { noSessionEvents, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import {
  answer,
  type CallDecision,
  closedAfter,
  dial,
  fromBrowser,
  mediaFlow,
  openCarrier,
  openMedia,
  openWorld,
  outcomeText,
  receivesTone,
  sdp,
  toBrowsers,
  trunkOf,
} from '../testing.ts'

// Session descriptions of trunks: accepted ones, and ones that are answered 488.

const media = await openMedia()
after(() => media.close())

test('a trunk that fails after early media is the last one tried', async (t) => {
  const twice: CallDecision = () => ({
    value: { targets: ['carrier', 'backup'].map((trunk) => ({ trunk, number: '+33612345678' })) },
  })
  const { gateway, carrier, browser, ended } = await openWorld(t, twice, { media })
  const backup = await openCarrier(t)
  await gateway.apply([trunkOf(carrier.port), trunkOf(backup.port, { id: 'backup' })])
  await until(() => gateway.trunk('backup')?.state === 'up')
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
  const ann = await browser('ANN')
  const { dialled } = await dial(ann, fromBrowser(ann), softphone)
  const call = await carrier.call()
  call.ring({ status: 183, body: sdp(await telephone.answer(call.invite.body.toString())) })
  await until(() => dialled.progress.includes(183))
  await mediaFlow(softphone)
  call.refuse({ status: 503 })
  const end = await ended()
  assert.deepEqual([end.how, end.status, backup.calls.length], ['failed', 503, 0])
})

for (const [what, change] of [
  ['fax alone (T.38)', (text: string) => text.replace(/^m=audio (\d+) .*$/m, 'm=image $1 udptl t38')],
  ['audio that is off', (text: string) => text.replace(/^m=audio \d+/m, 'm=audio 0')],
  ['a multicast address', (text: string) => text.replace(/^c=.*$/m, 'c=IN IP4 239.1.2.3/127')],
  ['an address of another family', (text: string) => text.replace(/^c=.*$/m, 'c=IN IP6 2001:db8::1')],
  ['no description at all', () => 'nothing'],
] as const)
  test(`an offer of ${what} is answered 488`, async (t) => {
    const { gateway, carrier, callControl } = await openWorld(t, toBrowsers('ANN'), { media })
    const telephone = await closedAfter(t, makeTelephone())
    const peer = { offer: async () => change(await telephone.offer()), accept: telephone.accept }
    const ask = { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '<sip:33612345678@carrier.test>' }
    const { dialled } = await dial(carrier, ask, peer)
    await until(() => dialled.refused.length > 0)
    assert.match(dialled.refused[0] ?? '', /^488/)
    await until(() => callControl.of('ended').length === 1)
  })

const keyed = `a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${'A'.repeat(40)}|2^20`
const profile = (text: string, name: string, ...lines: string[]) => [text.replace('RTP/AVP', name), ...lines].join('')
const secured = (text: string) => profile(text, 'RTP/SAVP', `${keyed}\r\n`)

for (const [what, srtp, change] of [
  ['RTP/SAVP to a trunk that never encrypts', 'never', secured],
  ['RTP/SAVP without a key', 'offer', (text: string) => profile(text, 'RTP/SAVP')],
  ['a key of another suite', 'require', (text: string) => secured(text).replace('SHA1_80', 'SHA1_32')],
  ['a key of another length', 'require', (text: string) => secured(text).replace('AAAA', '')],
  ['SRTP with unencrypted packets', 'require', (text: string) => secured(text).replace('|2^20', ' UNENCRYPTED_SRTP')],
  ['SRTP with a key identifier', 'require', (text: string) => secured(text).replace('|2^20', '|2^20|1:4')],
  ['DTLS', 'offer', (text: string) => profile(text, 'UDP/TLS/RTP/SAVPF', 'a=fingerprint:sha-256 AA\r\n')],
  ['plain audio to a trunk that always encrypts', 'require', (text: string) => text],
] as const)
  test(`an offer of ${what} is answered 488`, async (t) => {
    const { gateway, carrier } = await openWorld(t, toBrowsers('ANN'), { media })
    await gateway.apply([trunkOf(carrier.port, { srtp })])
    const telephone = await closedAfter(t, makeTelephone())
    const ask = { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '<sip:33612345678@carrier.test>' }
    const offer = async () => change(await telephone.offer())
    const { dialled } = await dial(carrier, ask, { offer, accept: telephone.accept })
    await until(() => dialled.refused.length > 0)
    assert.match(dialled.refused[0] ?? '', /^488/)
  })

for (const [srtp, chosen] of [
  ['never', ['m=audio 0 RTP/SAVP', /^m=audio [1-9]\d* RTP\/AVP /]],
  ['offer', [/^m=audio [1-9]\d* RTP\/SAVP /, 'm=audio 0 RTP/AVP']],
] as const)
  test(`a trunk with srtp ${srtp} accepts one of plain and encrypted audio and refuses the other`, async (t) => {
    const { gateway, carrier, browser } = await openWorld(t, toBrowsers('ANN'), { media })
    await gateway.apply([trunkOf(carrier.port, { srtp })])
    const ann = await browser('ANN')
    const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
    const offer = async () => {
      const text = await telephone.offer()
      const [, head = '', plain = ''] = /^(.*?)(m=audio .*)$/s.exec(text) ?? []
      return `${head}${secured(plain)}${plain}`
    }
    const ask = { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '<sip:33612345678@carrier.test>' }
    const { dialled } = await dial(carrier, ask, { offer, accept: async () => {} })
    await answer(await until(() => ann.calls.shift()), softphone)
    const lines = (await until(() => dialled.answers[0])).split('\r\n').filter((line) => line.startsWith('m='))
    await mediaFlow(softphone)
    for (const [i, codec] of chosen.entries())
      assert.ok(typeof codec === 'string' ? lines[i]?.startsWith(codec) : codec.test(lines[i] ?? ''), lines.join())
    assert.equal(/^a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:/m.test(dialled.answers[0] ?? ''), srtp === 'offer')
    await dialled.session?.bye()
  })

test('a multipart INVITE is answered by its session description (RFC 5621)', async (t) => {
  const { gateway, carrier, browser } = await openWorld(t, toBrowsers('ANN'), { media })
  const ann = await browser('ANN')
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
  const ask = { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '<sip:33612345678@carrier.test>' }
  const isup = ['Content-Type: application/isup', 'Content-Disposition: signal; handling=optional', '', '\x01\x10']
  const described = ['Content-Type: application/sdp', 'Content-Disposition: session; handling=required', '']
  const content = ['--edge', ...isup, '--edge', ...described, await telephone.offer(), '--edge--', ''].join('\r\n')
  const answers: string[] = []
  carrier.agent.invite(
    { ...ask, body: { type: 'multipart/mixed; boundary="edge"', content } },
    {
      progress: () => {},
      accepted: (response) => answers.push(response.body.toString()),
      refused: (outcome) => answers.push(outcomeText(outcome)),
      session: noSessionEvents,
    },
  )
  await answer(await until(() => ann.calls.shift()), softphone)
  await telephone.accept(await until(() => answers[0]))
  await mediaFlow(softphone)
  telephone.sendTone(620)
  await receivesTone(softphone, 620)
})
