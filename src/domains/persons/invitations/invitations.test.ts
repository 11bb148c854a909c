import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailSettings } from '../../../../test/mailed.ts'
import { acceptLink } from '../../../../test/persons.ts'
import { makeWorld } from '../../../../test/world.ts'
import { accountsOf, makeAddressBench, newEmail, outcome, ownPassword, squatterPassword } from '../addresses-testing.ts'

// Who accepts a link: see decision 0045. Mails are read from the queue.

const world = await makeWorld(mailSettings)
const { call } = world
const { invite, join, enter, isProved } = makeAddressBench(world)
const [ada, bob] = [await world.tenant(), await world.tenant()]

test('an account that squats an address keeps its owner out of no other account', async () => {
  const email = newEmail('victim')
  const squatter = await join(ada, email, 'link', squatterPassword)
  const owner = await join(bob, email, 'link', ownPassword)
  assert.notEqual(owner.person.uuid, squatter.person.uuid)
  assert.deepEqual(accountsOf(await enter(email, ownPassword)), [bob.uuid])
  assert.deepEqual(accountsOf(await enter(email, squatterPassword)), [ada.uuid])
})

// The rule table: the link × the person of the address × the password.

type PersonBefore = 'none' | 'unproved' | 'proved'
type Row = readonly [
  link: 'link' | 'mail',
  known: PersonBefore,
  password: 'right' | 'wrong',
  existing: boolean,
  result: string,
]

const rows: readonly Row[] = [
  ['link', 'none', 'wrong', false, '201 new unproved'],
  ['link', 'none', 'wrong', true, '401 unauthorized'],
  ['link', 'unproved', 'right', false, '201 same unproved'],
  ['link', 'unproved', 'wrong', false, '201 new unproved'],
  ['link', 'unproved', 'right', true, '201 same unproved'],
  ['link', 'unproved', 'wrong', true, '401 unauthorized'],
  ['link', 'proved', 'right', false, '201 same proved'],
  ['link', 'proved', 'wrong', false, '201 new unproved'],
  ['link', 'proved', 'right', true, '201 same proved'],
  ['link', 'proved', 'wrong', true, '401 unauthorized'],
  ['mail', 'none', 'wrong', false, '201 new proved'],
  ['mail', 'none', 'wrong', true, '401 unauthorized'],
  ['mail', 'unproved', 'right', false, '201 same proved'],
  ['mail', 'unproved', 'wrong', false, '201 new proved'],
  ['mail', 'unproved', 'wrong', true, '401 unauthorized'],
  ['mail', 'proved', 'right', false, '201 same proved'],
  ['mail', 'proved', 'wrong', false, '401 password_exists'],
  ['mail', 'proved', 'wrong', true, '401 password_exists'],
]

for (const [delivery, known, password, existing, result] of rows)
  test(`a ${delivery === 'mail' ? 'mailed' : 'shown'} link, ${known} person, ${password} password${existing ? ', who says to exist' : ''}: ${result}`, async () => {
    const email = newEmail('row')
    const before = known === 'none' ? null : await join(ada, email, known === 'proved' ? 'mail' : 'link', ownPassword)
    const { url } = await invite(bob, email, delivery)
    const entered = password === 'right' ? ownPassword : squatterPassword
    const answer = await acceptLink(world, url, { password: entered, ...(existing ? { existing } : {}) })
    if (answer.status !== 201) return assert.equal(outcome(answer), result)
    const { uuid, email_proved } = answer.body.person
    const who = uuid === before?.person.uuid ? 'same' : 'new'
    assert.equal(`201 ${who} ${email_proved ? 'proved' : 'unproved'}`, result)
    assert.equal(await isProved(uuid), email_proved)
    assert.equal(answer.body.accounts.length, who === 'same' ? 2 : 1)
  })

test('a shown link answers alike whether the address has a person, and so does its pace', async () => {
  const email = newEmail('known')
  await join(ada, email, 'mail', ownPassword)
  const answers = async (address: string) => {
    const { url } = await invite(bob, address, 'link')
    const found: string[] = []
    for (let i = 0; i < 10; i++) {
      const { status, body } = await acceptLink(
        world,
        url,
        i === 0 ? { password: 'password12345' } : { password: squatterPassword, existing: true },
      )
      found.push(`${status} ${body.error_code} ${String(body.error_message).replace(/\d+/g, 'n')}`)
    }
    return found
  }
  const [one, other] = [await answers(email), await answers(newEmail('unknown'))]
  // The person was made by an attempt that counts too.
  assert.deepEqual(new Set(one), new Set(other))
  assert.match(one.at(-1) ?? '', /^429 sign_in_pace/)
})

test('links that an account makes at will are no way to guess the password of a person', async () => {
  const email = newEmail('guessed')
  await join(ada, email, 'mail', ownPassword)
  const guess = async (n: number) => {
    const { url, user } = await invite(bob, email, 'link')
    const answer = await acceptLink(world, url, { password: `guess number ${n} of many words` })
    await call(bob, 'PATCH', `/open/members/${user}`, { status: 'DELETED' })
    return answer.status
  }
  const found: number[] = []
  for (let n = 0; n < 10; n++) found.push(await guess(n))
  assert.deepEqual(found.slice(-2), [429, 429], found.join())
})
