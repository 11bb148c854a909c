import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { issueOperatorKey } from '../src/domains/operators/ops.ts'
import { confidentialNames } from '../src/platform/http/confidential.ts'
import { needsOperator } from '../src/platform/http/endpoint.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene, requirement } from './recipes/scene.ts'
import { send } from './recipes/send.ts'

// Every operator contract × role.

const world = await makeRecipeWorld()
const { db, app } = world
const scene = await makeScene(world, 'ZQXROLEZQX')
const observer = await db.begin((tx) => issueOperatorKey(tx, 'observer', { role: 'observer' }))
const operators = contracts.filter(({ auth }) => auth === 'operator')

const readAs = async (key: string, url: string) => {
  const answer = await app.inject({ method: 'GET', url, headers: { 'x-operator-key': key } })
  return { status: answer.statusCode, text: answer.body, body: answer.json() }
}

for (const contract of operators) {
  const isRefused = needsOperator(contract)
  test(`${contract.id}: an observer is ${isRefused ? 'refused' : 'answered'}, an operator is answered`, async () => {
    const recipe = recipes[contract.id]
    assert.ok(recipe, `${contract.id} has no recipe: give it one in test/recipes`)
    const request = await recipe.ok(scene)
    const rows = () => db.one<{ n: number }>`select count(*)::integer as n from audit where action = ${contract.id}`
    const before = await rows()
    const answer = await send(world, contract, scene.tenant, request, { key: observer.key })
    assert.equal(answer.status, isRefused ? 403 : contract.status, answer.text)
    assert.deepEqual(await rows(), before)
    if (isRefused) {
      const { error_code, error_message } = Object(answer.body)
      assert.equal(error_code, 'role')
      assert.match(error_message, /needs the role operator/)
    }
    // The request was refused before any effect, so it can be repeated.
    assert.equal((await send(world, contract, scene.tenant, request)).status, contract.status)
  })
}

test('the walk sees both kinds of contracts', () => {
  const open = operators.filter((contract) => !needsOperator(contract))
  assert.ok(operators.length - open.length >= 28, `saw only ${operators.length - open.length} that need an operator`)
  assert.ok(open.length >= 20, `saw only ${open.length} for observers`)
  const marked = open.filter(({ reply }) => confidentialNames(reply).size > 0).map(({ id }) => id)
  assert.deepEqual(marked.sort(), [
    'inspectMessage',
    'listDeadJobs',
    'listMails',
    'listSetAside',
    'listSoldNumbers',
    'listUnparsedReceipts',
    'showRegistration',
    'showWebhooks',
  ])
})

test('an observer sees the route of a message without its text, and an operator sees it with the text', async () => {
  const { uuid: message } = await scene.message()
  const url = `/operator/messages/${message}`
  const seen = await readAs(observer.key, url)
  assert.equal(seen.status, 200)
  assert.equal(seen.body.message.text, '•••')
  assert.equal(seen.body.message.uuid, message)
  assert.ok(!seen.text.includes('ZQXROLEZQX'))
  assert.match((await readAs(world.operatorKey, url)).body.message.text, /ZQXROLEZQX/)
})

test('an observer reads acts on contacts without their names, and an operator with them', async () => {
  const [kept, gone] = [await scene.contact(), await scene.contact()]
  const merged = await world.call(scene.tenant, 'POST', `/open/contacts/${kept}/merge`, { from: [gone] })
  assert.equal(merged.status, 200, JSON.stringify(merged.body))
  const url = '/operator/audit?action=mergeContacts'
  const seen = await readAs(observer.key, url)
  assert.equal(seen.body.count, 1)
  assert.ok(!seen.text.includes('ZQXROLEZQX'), seen.text)
  assert.match((await readAs(world.operatorKey, url)).text, /ZQXROLEZQX/)
})

test('an observer sees a registration without its submitted values, and no document', async () => {
  const { number, document } = await scene.registration()
  const url = `/operator/registrations/${number}`
  assert.equal((await readAs(observer.key, `${url}/documents/${document}`)).body.error_code, 'role')
  await db.run`
    update registration_answers set document_id = null, sealed_value = ${world.parts.seal.close('ZQXROLEZQX Street 1')}
    where virtual_number_id = ${number.slice(3)} and requirement_id = ${requirement}`
  const seen = await readAs(observer.key, url)
  assert.equal(seen.body.registration.given[0].value, '•••')
  assert.ok(!seen.text.includes('ZQXROLEZQX'))
  assert.equal((await readAs(world.operatorKey, url)).body.registration.given[0].value, 'ZQXROLEZQX Street 1')
})

test('an observer sees dead-letter messages without their content', async () => {
  const channel = await scene.chat()
  await db.run`
    insert into msgapp_dead_letters (account_id, id, channel_id, what, content, digest, reason, created_at)
    values (${scene.tenant.id}, ${uuid()}, ${channel.slice(3)}, 'inbound', '["ZQXROLEZQX"]', 'x', '22P05 ZQXROLEZQX', now())`
  const seen = await readAs(observer.key, '/operator/set-aside')
  const mine = seen.body.set_aside.find((one: { channel_uuid: string }) => one.channel_uuid === channel)
  assert.deepEqual([mine.content, mine.reason], ['•••', '•••'])
  assert.ok(!seen.text.includes('ZQXROLEZQX'))
  assert.match((await readAs(world.operatorKey, '/operator/set-aside')).text, /ZQXROLEZQX/)
})

test('an observer sees the host of a failing webhook, and not its path', async () => {
  const hook = await scene.webhook()
  await db.run`update webhooks set enabled = false, disabled_reason = 'failing' where id = ${hook.slice(3)}`
  const seen = await readAs(observer.key, '/operator/webhooks')
  const mine = seen.body.webhooks.find((one: { uuid: string }) => one.uuid === hook)
  assert.equal(mine.hook_url, 'http://127.0.0.1:1024/•••')
  assert.ok(!seen.text.includes('ZQXROLEZQX'))
})

test('the listing shows the role of each key', async () => {
  const { keys } = (await readAs(observer.key, '/operator/keys')).body
  const mine = keys.find(({ current }: { current: boolean }) => current)
  assert.deepEqual([mine.label, mine.role], ['observer', 'observer'])
  assert.ok(keys.some(({ role }: { role: string }) => role === 'operator'))
})
