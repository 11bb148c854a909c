import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailedLink, mailSettings } from '../../../test/mailed.ts'
import { acceptLink, callAs, claim } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import { accountsOf, makeAddressBench, newEmail, outcome, ownPassword, squatterPassword } from './addresses-testing.ts'
import { paces } from './limits.ts'
import { makeVisitors } from './testing.ts'

// Several persons with one address: see decision 0045. Mails are read from the queue.

const world = await makeWorld(mailSettings)
const { call } = world
const { invite, join, enter, isProved, addSquatters } = makeAddressBench(world)
const operator = await claim(world, 'olive@example.com')
const [ada, bob] = [await world.tenant(), await world.tenant()]

test('a password that fits several persons asks for the account, and the second factor comes after the choice', async () => {
  const email = newEmail('twice')
  await join(ada, email, 'link', squatterPassword)
  const second = await join(bob, email, 'link', ownPassword)
  // Both get the same password, each by a link of its account.
  const { user } = second
  const link = await call(bob, 'POST', `/open/members/${user}/invitation`, { delivery: 'link' })
  assert.equal((await acceptLink(world, link.body.invite_url, { password: squatterPassword })).status, 201)
  const choice = await enter(email, squatterPassword)
  assert.equal(outcome(choice), '409 account_choice')
  assert.deepEqual(choice.body.accounts.map(({ uuid }: { uuid: string }) => uuid).sort(), [ada.uuid, bob.uuid].sort())
  for (const { uuid } of [ada, bob])
    assert.deepEqual(accountsOf(await enter(email, squatterPassword, { account: uuid })), [uuid])
  const wrong = await enter(email, 'a wrong password', { account: bob.uuid })
  assert.deepEqual([outcome(wrong), wrong.body.accounts], ['401 unauthorized', undefined])
  // An account in which no such person is does not help, and reveals nothing.
  const third = await world.tenant()
  assert.equal(outcome(await enter(email, squatterPassword, { account: third.uuid })), '409 account_choice')
})

test('squatters cannot crowd a person out who names the account', async () => {
  const email = newEmail('crowd')
  await join(ada, email, 'link', ownPassword)
  await addSquatters(email, bob, 5)
  assert.equal(outcome(await enter(email, ownPassword)), '401 unauthorized')
  assert.deepEqual(accountsOf(await enter(email, ownPassword, { account: ada.uuid })), [ada.uuid])
})

test('the browsers of a squatter give no further attempts at the password of the owner', async () => {
  const email = newEmail('marked')
  await join(ada, email, 'link', squatterPassword)
  await join(bob, email, 'mail', ownPassword)
  const { enter: enterFrom, markOf } = makeVisitors(world)
  const marks: string[] = []
  for (let i = 0; i < 4; i++) marks.push(markOf(await enterFrom('127.0.0.1', email, squatterPassword)))
  const found: number[] = []
  for (const mark of marks)
    for (let i = 0; i < 4; i++) found.push((await enterFrom('127.0.0.1', email, `a guess ${i}`, mark)).status)
  const guesses = found.filter((status) => status === 401).length
  assert.ok(guesses <= paces.wrong.burst + paces.clean.burst, found.join())
  assert.equal((await enter(email, squatterPassword)).status, 429)
})

test('an account has one person of an address at a time: removed members do not crowd others out', async () => {
  const email = newEmail('loop')
  await join(ada, email, 'link', ownPassword)
  await addSquatters(email, null, 6)
  assert.deepEqual(accountsOf(await enter(email, ownPassword)), [ada.uuid])
})

test('a removed member of the account that a sign-in names is not preferred to its present member', async () => {
  const email = newEmail('named')
  const former = await join(ada, email, 'link', ownPassword)
  await join(bob, email, 'link', ownPassword)
  assert.equal((await call(ada, 'PATCH', `/open/members/${former.user}`, { status: 'DELETED' })).status, 200)
  const present = await join(ada, email, 'link', squatterPassword)
  assert.notEqual(present.person.uuid, former.person.uuid)
  // Both have one password, and the former member signed in last.
  await world.db.run`
    update persons set password_hash = (select password_hash from persons where id = ${former.person.uuid.slice(3)})
    where id = ${present.person.uuid.slice(3)}`
  const personOf = async (account: string) => (await enter(email, ownPassword, { account })).body.person?.uuid
  assert.equal(await personOf(bob.uuid), former.person.uuid)
  assert.equal(await personOf(ada.uuid), present.person.uuid)
})

test('an owner who proves the address signs in first, and squatters get neither mail nor accounts', async () => {
  const email = newEmail('owner')
  const squatter = await join(ada, email, 'link', squatterPassword)
  const owner = await join(bob, email, 'mail', ownPassword)
  assert.deepEqual([owner.person.email_proved, await isProved(squatter.person.uuid)], [true, false])
  // The squatter stays in the own account.
  assert.deepEqual(accountsOf(await enter(email, squatterPassword)), [ada.uuid])
  const third = await world.tenant()
  const { url } = await invite(third, email, 'link')
  const joined = await acceptLink(world, url, { password: squatterPassword })
  assert.equal(joined.body.accounts.length, 1, 'the squatter joins no further account')
  const session = { cookie: squatter.cookie }
  const response = await callAs(world, session.cookie, 'POST', '/console/me/email-proof')
  assert.equal(outcome(response), '409 email_proved_elsewhere')
  const mailed = await call('operator', 'POST', `/operator/persons/${squatter.person.uuid}/password-link`, {})
  assert.equal(outcome(mailed), '409 email_proved_elsewhere')
  const vouched = await call('operator', 'PATCH', `/operator/persons/${squatter.person.uuid}`, { email_proved: true })
  assert.equal(outcome(vouched), '409 email_proved_elsewhere')
})

test('an account that mails a link again moves the membership of a squatter to the owner of the address', async () => {
  const email = newEmail('moved')
  const squatter = await join(ada, email, 'link', squatterPassword)
  await join(bob, email, 'mail', ownPassword)
  const mailed = await call(ada, 'POST', `/open/members/${squatter.user}/invitation`, {})
  assert.deepEqual([mailed.status, mailed.body.mailed_to], [201, email])
  const url = await mailedLink(world, email, 'invitation')
  assert.equal((await acceptLink(world, url, { password: squatterPassword })).status, 401)
  const answer = await acceptLink(world, url, { password: ownPassword })
  assert.deepEqual(accountsOf(answer).sort(), [ada.uuid, bob.uuid].sort())
  assert.equal((await callAs(world, squatter.cookie, 'GET', '/console/session')).status, 401)
  assert.equal((await enter(email, squatterPassword)).status, 401)
})

test('an operator vouches for an address, and takes it back', async () => {
  const email = newEmail('vouched')
  const person = await join(ada, email, 'link', ownPassword)
  const change = (body: object) => operator.call('PATCH', `/operator/persons/${person.person.uuid}`, body)
  assert.equal((await change({ email_proved: true })).body.person.email_proved, true)
  assert.equal((await change({ email_proved: false })).body.person.email_proved, false)
  assert.equal((await change({ operator: 'observer' })).body.person.email_proved, true)
  const invited = await operator.call('POST', '/operator/invitations', {
    email: newEmail('op'),
    operator: 'observer',
    delivery: 'link',
  })
  const joined = await acceptLink(world, invited.body.invite_url, { password: ownPassword })
  assert.equal(joined.body.person.email_proved, true)
  assert.equal(operator.boot.person.email_proved, true)
})

test('a password that an administrator may have set by a shown link ends the proof of the address', async () => {
  const email = newEmail('shown')
  const person = await join(ada, email, 'mail', ownPassword)
  const { body } = await call(ada, 'POST', `/open/members/${person.user}/invitation`, { delivery: 'link' })
  assert.equal((await acceptLink(world, body.invite_url, { password: squatterPassword })).status, 201)
  assert.equal(await isProved(person.person.uuid), false)
})

test('no request has the token of a link in its path or query', async () => {
  const { url } = await invite(ada, newEmail('path'), 'link')
  const token = url.split('#')[1] ?? ''
  for (const method of ['GET', 'POST'] as const) {
    const answer = await callAs(world, null, method, `/console/invitations/${token}`, undefined, { accept: '*/*' })
    assert.ok(!JSON.stringify(answer.body).includes('account_name'), method)
  }
  assert.equal((await callAs(world, null, 'POST', '/console/invitations/show', { token })).status, 200)
})
