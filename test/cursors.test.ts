import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contracts } from '../src/contracts.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { recipes } from './recipes/all.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { nodeOf } from './recipes/schema.ts'
import { send } from './recipes/send.ts'

const scene = await makeScene(await makeRecipeWorld(), 'cursor')
const lists = contracts.filter(({ query }) => query && 'cursor' in (nodeOf(query).properties ?? {}))

const base64url = (text: string | Buffer): string => Buffer.from(text).toString('base64url')
const id = uuid()
const now = '2026-01-01T00:00:00.000000Z'

/** Values of `cursor` that the server never issues, by their defect. */
const forged = (list: string): Record<string, string> => {
  const cursor = (...parts: string[]) => base64url([list, ...parts].join('|'))
  const another = lists.find((one) => one.id !== list)?.id ?? ''
  const times: Record<string, string> = {
    'a day that no calendar has': '2026-02-31T00:00:00.000000Z',
    'an hour that no day has': '2026-01-01T24:00:00.000000Z',
    'a leap second': '2026-06-30T23:59:60.000000Z',
    'the year 0': '0000-01-01T00:00:00.000000Z',
    'a huge year': '+275760-09-13T00:00:00.000000Z',
    'a year of five digits': '99999-01-01T00:00:00.000000Z',
    'a negative year': '-0001-01-01T00:00:00.000000Z',
    'not a number': 'NaN',
    'a negative number': '-1',
    infinity: 'infinity',
    nothing: '',
    SQL: "' or 1=1 --",
  }
  return {
    'not base64url': '%%%',
    'base64 of another alphabet': `${cursor(now, id)}+/=`,
    'another spelling of a cursor': `${cursor(now, id)}=`,
    junk: base64url(Buffer.from([0xff, 0xfe, 0x00, 0x80])),
    'bytes that are not text': base64url(Buffer.concat([Buffer.from(`${list}|`), Buffer.from([0xc3, 0x28])])),
    'JSON of an array': base64url('[1,2]'),
    'JSON of an object': base64url('{"time":null,"id":{}}'),
    'a number': '7',
    'a negative number': '-7',
    NaN: 'NaN',
    true: 'true',
    'no parts': cursor(),
    'one part': cursor(now),
    'a malformed id': cursor(now, 'not-a-uuid'),
    'an id in braces': cursor(now, `{${id}}\0`),
    'U+0000': cursor(now, '\0'),
    'a cursor of another list': base64url([another, now, id].join('|')),
    'a cursor of earlier versions': base64url(`${now}|${id}`),
    'over-long': base64url('x'.repeat(5_000)),
    ...Object.fromEntries(Object.entries(times).map(([what, time]) => [`${what} as its time`, cursor(time, id)])),
  }
}

test('every list with a cursor is tested', () => {
  assert.ok(lists.length >= 14, `saw only ${lists.length} lists`)
})

for (const contract of lists) {
  test(`${contract.id} refuses every forged cursor with 400, and names it`, async () => {
    const recipe = recipes[contract.id]
    assert.ok(recipe)
    const { query, ...request } = await recipe.ok(scene)
    for (const [what, cursor] of Object.entries(forged(contract.id))) {
      // Conversations are identified by peers, which have any form.
      if (what === 'a malformed id' && contract.id === 'listConversations') continue
      const asked = { ...request, query: { ...query, cursor } }
      const { status, text } = await send(scene.world, contract, scene.tenant, asked)
      assert.equal(status, 400, `${what}: ${text}`)
      assert.match(text, /"error_message":"cursor /, what)
    }
  })
}

test('a list read to its end by its own cursors returns each row exactly once', async () => {
  const { world } = scene
  const who = await world.tenant()
  for (let i = 0; i < 5; i++) {
    const contact = { first_name: `N${i}`, contact_details: [{ type: 'E', value: `n${i}@example.com` }] }
    const made = await world.call(who, 'POST', '/open/contacts', contact)
    assert.equal(made.status, 201, JSON.stringify(made.body))
  }
  const seen: string[] = []
  let next: string | undefined
  do {
    const cursor: string = next === undefined ? '' : `&cursor=${next}`
    const { body } = await world.call(who, 'GET', `/open/contacts?results_per_page=2${cursor}`)
    seen.push(...body.contacts.map(({ uuid }: { uuid: string }) => uuid))
    next = body.next_cursor
  } while (next !== undefined)
  assert.deepEqual([seen.length, new Set(seen).size], [5, 5])
})
