import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uuid } from '../src/platform/lib/id.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'

const scene = await makeScene(await makeRecipeWorld(), 'fields')
const { world, tenant } = scene
const { number } = await scene.number()

type Case = readonly [
  who: 'tenant' | 'operator',
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  url: string,
  body: object | undefined,
  status: number,
  field: string | undefined,
]

const to = '+447700900123'
const requirement = (answer: object) => ({ group_id: 'none', requirements: [answer] })

/** Requests with one field at fault, and refusals that concern no field. */
const cases: readonly Case[] = [
  // The schema.
  ['tenant', 'POST', '/open/sms/send', { to_number: to, text: 'a' }, 400, '/from_number'],
  ['tenant', 'POST', '/open/sms/send', { from_number: number, to_number: 'nobody', text: 'a' }, 422, '/to_number'],
  [
    'tenant',
    'POST',
    '/open/numbers/purchase',
    requirement({ requirement_id: 0 }),
    400,
    '/requirements/0/requirement_id',
  ],
  ['tenant', 'GET', '/open/ledger?results_per_page=0', undefined, 400, '/query/results_per_page'],
  ['tenant', 'GET', '/open/sms/message/XXX1', undefined, 400, '/path/message_uuid'],
  ['tenant', 'PATCH', '/open/account', { low_balance: 'a' }, 400, '/low_balance'],
  ['operator', 'POST', '/operator/accounts', { name: 'a', 'a/b~': 1 }, 400, '/a~1b~0'],
  // The tables of refusals: one text, wherever its field is.
  ['tenant', 'PATCH', '/open/account', { low_balance: '0' }, 400, '/low_balance'],
  ['tenant', 'POST', '/open/sms/send', { from_number: to, to_number: to, text: 'a' }, 404, '/from_number'],
  [
    'tenant',
    'POST',
    '/open/sms/send',
    { from_number: number, to_number: to, text: 'a', send_at: '2999-01-01' },
    400,
    '/send_at',
  ],
  ['tenant', 'GET', '/open/numbers/available?group_id=none', undefined, 404, '/query/group_id'],
  ['tenant', 'POST', '/open/numbers/reservations', { group_id: 'none' }, 404, '/group_id'],
  ['tenant', 'GET', `/open/sms/message/SMO${uuid()}`, undefined, 404, '/path/message_uuid'],
  ['tenant', 'GET', '/open/ledger?cursor=x', undefined, 400, '/query/cursor'],
  [
    'tenant',
    'POST',
    '/open/contacts',
    { first_name: 'a', last_name: 'b', contact_details: [] },
    400,
    '/contact_details',
  ],
  // No field.
  ['tenant', 'POST', '/open/sms/send', [], 400, undefined],
  ['tenant', 'GET', '/open/nothing', undefined, 404, undefined],
]

test('a refusal names the field at fault, in the body, the query or the path', async () => {
  for (const [who, method, url, body, status, field] of cases) {
    const answer = await world.call(who === 'tenant' ? tenant : 'operator', method, url, body)
    const place = `${method} ${url} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`
    assert.equal(answer.status, status, place)
    assert.equal(answer.body.field, field, place)
    assert.equal(Object.hasOwn(answer.body, 'field'), field !== undefined, place)
  }
})
