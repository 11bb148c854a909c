import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SipMessage } from '@trunkline/sip/message.ts'
import { printMessage } from '@trunkline/sip/print.ts'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { answer, closedAfter, dial, openBrowser, openMedia, openWorld, toBrowsers } from '../testing.ts'

const media = await openMedia()
after(() => media.close())

const digits = '7700900999'

test('the number of a caller who withholds it reaches call control as asserted, and neither browser nor timeline', async (t) => {
  const world = await openWorld(
    t,
    (call) => {
      const decided = toBrowsers('ANN')(call)
      return 'value' in decided ? { value: { ...decided.value, callerId: 'anonymous' } } : decided
    },
    { media },
  )
  const heard: SipMessage[] = []
  const ann = await openBrowser(t, world.url, 'ANN', { onMessage: (_, message) => heard.push(message) })
  assert.match(await ann.register(), /^200/)
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
  const { dialled } = await dial(
    world.carrier,
    {
      uri: `sip:+33187654321@127.0.0.1:${world.gateway.port}`,
      from: '"Anonymous" <sip:anonymous@anonymous.invalid>',
      headers: [
        ['Privacy', 'id'],
        ['P-Asserted-Identity', `"Ann" <sip:+44${digits}@carrier.test>`],
        ['Remote-Party-ID', `<sip:+44${digits}@carrier.test>;party=calling;privacy=full`],
        // The first Contact counts: the target of our requests has the number, as with many carriers.
        ['Diversion', '<sip:+441632960001@carrier.test>;reason=user-busy'],
      ],
    },
    telephone,
  )
  const call = await until(() => ann.calls.shift())
  const received = world.callControl.of('receive')[0]?.about as Record<string, unknown>
  assert.deepEqual(
    { from: received.from, asserted: received.asserted, name: received.name, divertedFrom: received.divertedFrom },
    { from: null, asserted: `+44${digits}`, name: null, divertedFrom: '+441632960001' },
  )
  assert.match(printMessage(call.invite).toString(), /^From: <sip:anonymous@/m)
  const { session } = await answer(call, softphone)
  await until(() => dialled.session)
  await session.bye()
  await world.ended()
  assert.ok(heard.length > 3)
  for (const message of heard) assert.ok(!printMessage(message).includes(digits), printMessage(message).toString())
  assert.ok(world.callControl.traces.length > 3)
  assert.deepEqual(
    world.callControl.traces.filter((text) => text.includes(digits)),
    [],
  )
})

test('a withheld number is not shown as the number that forwarded the call', async (t) => {
  const world = await openWorld(t, () => ({ refused: { status: 486, reason: 'Busy Here' } }), { media })
  const { dialled } = await dial(
    world.carrier,
    {
      uri: `sip:+33187654321@127.0.0.1:${world.gateway.port}`,
      from: `"Ann" <sip:+44${digits}@carrier.test>`,
      headers: [
        ['Privacy', 'id'],
        ['Diversion', `<sip:0044${digits}@carrier.test>;reason=unconditional`],
      ],
    },
    await closedAfter(t, makeTelephone()),
  )
  await until(() => dialled.refused[0])
  const received = world.callControl.of('receive')[0]?.about as Record<string, unknown>
  const { from, asserted, divertedFrom } = received
  assert.deepEqual({ from, asserted, divertedFrom }, { from: null, asserted: `+44${digits}`, divertedFrom: null })
})
