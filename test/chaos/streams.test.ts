import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { samplesOf } from '@trunkline/rtp/g711.ts'
import { waitForTone } from '../../src/adapters/media/media.conformance.ts'
import { makeStreamWorld } from '../../src/adapters/media/stream/stream-testing.ts'
import { longForm } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { openPipecatAgent } from '../twilio/pipecat-agent.ts'
import { callsSeenBy, freePortSettings } from '../voice/voice-fixture.ts'

// Media streams over their real time: a minute of audio, and servers that stall. The other forms have the same by counted
// frames, or for some seconds.

const { connected } = await makeStreamWorld()

test(
  '60 s of audio that are sent within a second are heard in order and without a gap; after clear nothing is heard',
  longForm(),
  async () => {
    const { call, telephone, served } = await connected()
    // No octet is silence, and no two neighbours are equal: a gap or a repetition shows.
    const octets = Buffer.from(Array.from({ length: 480_000 }, (_, i) => (i * 31) % 127))
    for (const hasClear of [false, true]) {
      const from = telephone.samples.length
      const began = performance.now()
      for (let at = 0; at < octets.length; at += 160) served.sendAudio(octets.subarray(at, at + 160))
      served.mark(String(hasClear))
      assert.ok(performance.now() - began < 1_000)
      if (hasClear) {
        await until(async () => telephone.samples.length > from + 8_000)
        served.clear()
        await until(async () => telephone.samples.slice(-8_000).every((sample) => sample === 0))
        assert.ok(telephone.samples.length < from + 80_000)
      } else {
        await until(async () => served.marks.length > 0 && telephone.samples.at(-1) === 0, 90)
        const heard = telephone.samples.slice(telephone.samples.findIndex((sample, i) => i >= from && sample !== 0))
        assert.deepEqual(
          heard.slice(0, octets.length),
          Array.from(octets, (octet) => samplesOf.pcmu[octet] ?? 0),
        )
      }
    }
    assert.deepEqual(served.marks, ['false', 'true'])
    await call.close()
  },
)

test(
  'a server that stalls for 10 s misses the oldest audio, and its stream and the call go on',
  longForm(),
  async () => {
    const { call, telephone, served, ended } = await connected({}, true)
    telephone.sendTone(1_000)
    await waitForTone(telephone, 1_000)
    await once(served.socket, 'ping')
    served.socket.pause()
    await pause(10_000)
    served.socket.resume()
    await waitForTone(telephone, 1_000)
    await call.close()
    const { reason, framesDropped, framesSent } = await ended
    assert.equal(reason, 'call_ended')
    // 10 s but for 2 s that wait, and those on their way.
    assert.ok(framesDropped > 250 && framesDropped < 450, `${framesDropped}`)
    assert.equal(served.frames.filter(({ media }) => media).length, framesSent)
  },
)

test("a voice agent that speaks as pipecat's serializer talks for 60 s both ways", longForm(), async (t) => {
  const platform = await startPlatform(undefined, freePortSettings)
  t.after(() => platform.end())
  const { number } = await buyNumber(platform)
  const { account_sid: sid, auth_token: token } = (await platform.call('POST', '/open/compat/credentials', {})).body
  const agent = await openPipecatAgent({ sid, token, base: platform.url })
  t.after(agent.close)
  const program = createServer((_, response) => {
    response.setHeader('content-type', 'text/xml')
    response.end(`<Response><Connect><Stream url="${agent.url}"/></Connect></Response>`)
  })
  program.listen(0, '127.0.0.1')
  await once(program, 'listening')
  t.after(() => void program.close())
  const { port } = program.address() as AddressInfo // it listens on TCP
  const made = await platform.call('POST', '/open/voip/applications', {
    ...{ name: 'Agent', url: `http://127.0.0.1:${port}/`, format: 'twilio' },
  })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
  const voice = { kind: 'application', application_uuid: made.body.application.uuid }
  const changed = await platform.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { voice })
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  const handset = '+447700901250'
  await platform.call('POST', `/sandbox/handsets/${handset}/calls`, { to: number })
  const latest = async () => (await callsSeenBy(platform, handset)).at(-1)
  await agent.takeCall(
    {
      tones: async () => (await latest())?.tones ?? [],
      ended: async () => {
        const { state } = await until(async () => {
          const call = await latest()
          return call?.ended_at && call
        })
        return state
      },
    },
    60,
  )
})
