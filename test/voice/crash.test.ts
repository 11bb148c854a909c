import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, dial, hears, openCarrier } from '../../src/connectors/sip/gateway/testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { activeUsers, addTrunk, credentialsOf, openPerson, voice } from './scene.ts'

test('a platform that is killed in mid-call closes its record at the next start, and says goodbye to the carrier', async (t) => {
  const platform = await startPlatform(undefined, voice)
  const [ada = ''] = await activeUsers(platform)
  await buyNumber(platform)
  const carrier = await openCarrier(t)
  await addTrunk(platform, { port: carrier.port, prefixes: ['33'] })
  const person = await openPerson(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const softphone = await person.softphone()
  const { dialled } = await dial(person.web, person.toward('+33612345678'), softphone)
  const call = await carrier.call()
  const telephone = await makeTelephone()
  t.after(() => telephone.close())
  const { ends } = await answer(call, telephone)
  const answered = Date.now()
  await until(async () => dialled.session)
  telephone.say(620)
  softphone.say(1_000)
  await Promise.all([hears(softphone, 620), hears(telephone, 1_000)])
  await platform.end('SIGKILL')
  const killed = Date.now()
  assert.deepEqual(ends, [])

  const again = await startPlatform(platform.home, voice)
  t.after(() => again.end())
  const began = Date.now()
  const cdr = await until(async () => {
    const [found] = (await again.call('GET', '/open/voip/call-history')).body.cdrs
    return found?.active === false && found
  })
  await until(async () => ends.length === 1)
  assert.ok(Date.now() - began < 10_000, `${Date.now() - began} ms`)
  assert.deepEqual(ends, ['remote'])
  assert.equal(cdr.end_reason, 'interrupted')
  assert.equal(cdr.status, 'COMPLETED')
  assert.ok(cdr.duration <= Math.ceil((killed - answered) / 1_000) + 1, `${cdr.duration} s`)
  assert.equal(cdr.call_cost.call_price, 0.05)

  // The browser cannot know: it asks within the call once it is back, and hears that there is none.
  await person.web.connect((await credentialsOf(again, ada, true)).ws_url)
  dialled.session?.move(person.web.flow)
  const outcome = await dialled.session?.options()
  assert.ok(outcome?.outcome === 'answered' && outcome.response.status === 481)
  assert.deepEqual(dialled.ends, ['gone'])
})
