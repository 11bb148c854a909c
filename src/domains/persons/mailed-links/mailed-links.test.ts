import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailedLink, mailSettings, mailsTo, resetsAreDone } from '../../../../test/mailed.ts'
import { acceptLink, callAs, cookieOf, member, tokenOf } from '../../../../test/persons.ts'
import { makeWorld } from '../../../../test/world.ts'
import { errorLog, startTestWorker } from '../../../platform/jobs/job-testing.ts'
import { perRecipient } from '../../mail/limits.ts'
import { makeAddressBench, newEmail, outcome, ownPassword, squatterPassword } from '../addresses-testing.ts'
import { maxMailedLinks, paces } from '../limits.ts'
import { sessionChanges } from '../testing.ts'
import { personJobs, resetKind } from './jobs.ts'

// Links that persons are mailed when they ask for them. Mails are read from the queue.

const world = await makeWorld(mailSettings)
const { db, call } = world
startTestWorker({ db, log: errorLog, kinds: personJobs(world.parts) })
const { invite, join, enter, isProved } = makeAddressBench(world)
const [ada, bob] = [await world.tenant(), await world.tenant()]

const reset = async (email: string) => {
  assert.equal((await callAs(world, null, 'POST', '/console/password-reset', { email })).status, 202)
  await resetsAreDone(world)
}

test('a person proves the address later by a link, and only with a session of that person', async () => {
  const email = newEmail('later')
  const person = await join(ada, email, 'link', ownPassword)
  const other = await join(bob, email, 'link', squatterPassword)
  assert.equal((await callAs(world, person.cookie, 'POST', '/console/me/email-proof')).status, 202)
  const token = (await mailedLink(world, email, 'prove_address')).split('#')[1]
  const prove = (cookie: string | null) => callAs(world, cookie, 'POST', '/console/me/email-proof/accept', { token })
  assert.equal(outcome(await prove(null)), '401 unauthorized')
  assert.equal(outcome(await prove(other.cookie)), '404 not_found')
  assert.equal(await isProved(person.person.uuid), false)
  const proved = await prove(person.cookie)
  assert.deepEqual([proved.status, proved.body.person.email_proved], [200, true])
  assert.equal(outcome(await prove(person.cookie)), '404 not_found', 'it works once')
  assert.equal(outcome(await callAs(world, person.cookie, 'POST', '/console/me/email-proof')), '409 email_is_proved')
  assert.deepEqual((await mailsTo(world, email)).at(-1)?.values.change, 'email_proved')
})

test('a person who forgot the password gets a link by mail, which ends everything and proves the address', async () => {
  const email = newEmail('forgot')
  const person = await join(ada, email, 'link', squatterPassword)
  await db.run`
    insert into passkeys (id, person_id, credential_id, public_key, sign_count, transports, name)
    select gen_random_uuid(), ${person.person.uuid.slice(3)}, ${Buffer.from(email)}, '', 0, '{}', 'Firefox on Linux'`
  const voice = await callAs(world, person.cookie, 'POST', '/open/sdk/access-token', { user_uuid: person.user })
  assert.equal(voice.status, 200, JSON.stringify(voice.body))
  const calls = () =>
    world.app.inject({
      method: 'POST',
      url: '/open/sdk/credentials',
      headers: { authorization: `Bearer ${voice.body.token}` },
      payload: {},
    })
  const before = (await calls()).statusCode
  assert.ok(before < 300, String(before))

  await reset(email.toUpperCase())
  await reset(email)
  const urls = (await mailsTo(world, email)).flatMap(({ template, values }) =>
    template === 'password_reset' ? (values.links as { link: string }[]).map(({ link }) => link) : [],
  )
  const [first = '', second = ''] = urls
  assert.equal(urls.length, 2)
  const shown = await callAs(world, null, 'POST', '/console/invitations/show', { token: first.split('#')[1] })
  assert.deepEqual(
    [shown.body.kind, shown.body.passkeys.map(({ name }: { name: string }) => name)],
    ['password', ['Firefox on Linux']],
  )
  const marked = await sessionChanges(world)
  const answer = await acceptLink(world, first, { password: ownPassword })
  assert.deepEqual([answer.status, answer.body.person.email_proved], [201, true])
  assert.ok((await sessionChanges(world)) > marked, 'every process is notified')
  assert.equal((await callAs(world, person.cookie, 'GET', '/console/session')).status, 401)
  assert.equal((await calls()).statusCode, 401, 'voice tokens end')
  assert.equal(await db.maybe`select 1 from passkeys where person_id = ${person.person.uuid.slice(3)}`, null)
  assert.equal((await acceptLink(world, second, { password: squatterPassword })).status, 404, 'other links end')
  assert.equal((await enter(email, squatterPassword)).status, 401)
  assert.equal((await enter(email, ownPassword)).status, 201)
  assert.ok((await mailsTo(world, email)).some(({ values }) => values.change === 'password_reset'))
})

test('a reset keeps passkeys if the person says so', async () => {
  const email = newEmail('keeps')
  const person = await join(ada, email, 'mail', ownPassword)
  await db.run`
    insert into passkeys (id, person_id, credential_id, public_key, sign_count, transports, name)
    select gen_random_uuid(), ${person.person.uuid.slice(3)}, ${Buffer.from(email)}, '', 0, '{}', 'a phone'`
  await reset(email)
  const url = await mailedLink(world, email, 'password_reset')
  assert.equal((await acceptLink(world, url, { password: squatterPassword, remove_passkeys: false })).status, 201)
  assert.notEqual(await db.maybe`select 1 from passkeys where person_id = ${person.person.uuid.slice(3)}`, null)
})

test('a request for a new password is answered alike whether the address has a person, and mails are bounded', async () => {
  const email = newEmail('bounded')
  await join(ada, email, 'mail', ownPassword)
  const ask = async (address: string) => {
    const { status, body } = await callAs(world, null, 'POST', '/console/password-reset', { email: address })
    return { status, ...body, request_id: '' }
  }
  const unknown = newEmail('unknown')
  for (let i = 0; i < paces.mail.burst + 2; i++) assert.deepEqual(await ask(email), await ask(unknown))
  await resetsAreDone(world)
  const mails = (await mailsTo(world, email)).filter(({ template }) => template === 'password_reset')
  assert.ok(mails.length <= maxMailedLinks, String(mails.length))
  assert.deepEqual(await mailsTo(world, unknown), [])
})

test('a reset of an address that a person proved has one link, though others use the address', async () => {
  const email = newEmail('alone')
  await join(ada, email, 'link', squatterPassword)
  await join(bob, email, 'mail', ownPassword)
  await reset(email)
  const { template, values } = (await mailsTo(world, email)).at(-1) ?? assert.fail()
  assert.deepEqual([template, (values.links as unknown[]).length], ['password_reset', 1])
})

test('a reset of several unproved persons has a link for each, and the one that is used proves the address', async () => {
  const email = newEmail('both')
  const [one, other] = [await join(ada, email, 'link', ownPassword), await join(bob, email, 'link', squatterPassword)]
  await reset(email)
  const mail = (await mailsTo(world, email)).at(-1)
  const links = mail?.values.links as { account: string; link: string }[]
  assert.equal(links.length, 2)
  const name = (await call(bob, 'GET', '/open/account')).body.account?.name
  const ofBob = links.find(({ account }) => account === name) ?? links.find(({ account }) => account !== null)
  const answer = await acceptLink(world, ofBob?.link ?? '', { password: 'seven blue lamps glow' })
  assert.equal(answer.status, 201)
  const rest = links.find((link) => link !== ofBob)
  assert.equal((await acceptLink(world, rest?.link ?? '', { password: 'seven blue lamps glow' })).status, 404)
  const proved = [await isProved(one.person.uuid), await isProved(other.person.uuid)]
  assert.equal(proved.filter(Boolean).length, 1)
})

test('strangers who request links never deprive the owner of an address of one', async () => {
  const email = newEmail('wanted')
  await join(ada, email, 'mail', ownPassword)
  const resets = async () =>
    (await db.many`select 1 from mails where recipient_key = ${email} and template = 'password_reset'`).length
  const ask = async (remoteAddress: string) => {
    const request = { method: 'POST', url: '/console/password-reset', payload: { email }, remoteAddress } as const
    const { statusCode } = await world.app.inject({ ...request, headers: { 'x-trunkline-console': '1' } })
    await resetsAreDone(world)
    return statusCode
  }
  for (let response = 0; response < paces.mail.burst; response++)
    assert.equal(await ask(`203.0.113.${response + 1}`), 202)
  assert.equal(await ask('198.51.100.7'), 202, 'a network that rarely asked goes on')
  const sent = await resets()
  assert.equal(sent, maxMailedLinks)
  // A day of such requests, which used up the limit of mails: the links have expired.
  await db.run`update mails set created_at = created_at - interval '2 hours' where recipient_key = ${email}`
  await db.run`
    insert into mails (id, account_id, recipient, recipient_key, template, created_at)
    select gen_random_uuid(), null, recipient, recipient_key, template, created_at
    from mails, generate_series(1, 2) where recipient_key = ${email} and template = 'password_reset'`
  await db.run`
    update invitations set expires_at = clock_timestamp() where person_id in (select id from persons where email = ${email})`
  const before = await resets()
  assert.ok(before >= perRecipient.day)
  await ask('198.51.100.8')
  assert.equal(await resets(), before + 1, 'the owner has a link that works')
  await ask('198.51.100.9')
  assert.equal(await resets(), before + 1, 'further ones wait for the limit')
})

test('persons of other addresses of a mailbox keep its owner from no link', async () => {
  const email = newEmail('paul')
  await join(ada, email, 'mail', ownPassword)
  for (let n = 1; n <= perRecipient.hour; n++) {
    const other = email.replace('@', `+${n}@`)
    await join(bob, other, 'link', squatterPassword)
    await reset(other)
  }
  await reset(email)
  assert.equal((await mailsTo(world, email)).at(-1)?.template, 'password_reset')
})

test('a proof of the address ends what others had of the person: sessions, voice tokens, and passkeys by invitation', async () => {
  const email = newEmail('planted')
  const former = await join(ada, email, 'link', ownPassword)
  const plant = () => db.run`
    insert into passkeys (id, person_id, credential_id, public_key, sign_count, transports, name)
    select gen_random_uuid(), ${former.person.uuid.slice(3)}, ${Buffer.from(email)}, '', 0, '{}', 'of the admin'`
  await plant()
  const { url } = await invite(bob, email, 'mail')
  const joined = await acceptLink(world, url, { password: ownPassword })
  assert.deepEqual([joined.status, joined.body.person.email_proved], [201, true])
  const count = async () =>
    (await db.many`select 1 from passkeys where person_id = ${former.person.uuid.slice(3)}`).length
  assert.equal(await count(), 0)
  assert.equal((await callAs(world, former.cookie, 'GET', '/console/session')).status, 401)

  const own = newEmail('two-browsers')
  const elsewhere = await join(ada, own, 'link', ownPassword)
  const here = cookieOf(await enter(own, ownPassword))
  assert.equal((await callAs(world, here, 'POST', '/console/me/email-proof')).status, 202)
  const token = (await mailedLink(world, own, 'prove_address')).split('#')[1]
  assert.equal((await callAs(world, here, 'POST', '/console/me/email-proof/accept', { token })).status, 200)
  assert.equal((await callAs(world, here, 'GET', '/console/session')).status, 200)
  assert.equal((await callAs(world, elsewhere.cookie, 'GET', '/console/session')).status, 401)
})

test('mails about security go to proved addresses alone', async () => {
  const [proved, unproved] = [newEmail('proved'), newEmail('unproved')]
  const people: [string, 'mail' | 'link'][] = [
    [proved, 'mail'],
    [unproved, 'link'],
  ]
  for (const [email, delivery] of people) {
    const { cookie } = await join(ada, email, delivery, ownPassword)
    const body = { current: ownPassword, password: squatterPassword }
    assert.equal((await callAs(world, cookie, 'POST', '/console/me/password', body)).status, 200)
    const elsewhere = { 'user-agent': 'Another Browser/1.0' }
    const entered = await callAs(
      world,
      null,
      'POST',
      '/console/session',
      { email, password: squatterPassword },
      elsewhere,
    )
    assert.equal(entered.status, 201)
    const newer = { 'user-agent': 'Another Browser/2.0' }
    await callAs(world, null, 'POST', '/console/session', { email, password: squatterPassword }, newer)
  }
  const templates = async (email: string) => (await mailsTo(world, email)).map(({ template }) => template)
  assert.deepEqual(await templates(proved), ['invitation', 'security_changed', 'new_sign_in'])
  assert.deepEqual(await templates(unproved), [])
})

test('each link opens what it is for, and ends only those that it replaces', async () => {
  const email = newEmail('links')
  const [person, squatter] = [
    await join(ada, email, 'link', ownPassword),
    await join(bob, email, 'link', squatterPassword),
  ]
  const shownFor = async (tenant: typeof ada, { user }: { readonly user: string }) =>
    (await call(tenant, 'POST', `/open/members/${user}/invitation`, { delivery: 'link' })).body.invite_url
  const showing = (url: string) => callAs(world, null, 'POST', '/console/invitations/show', { token: tokenOf(url) })
  assert.equal((await callAs(world, person.cookie, 'POST', '/console/me/email-proof')).status, 202)
  const proof = await mailedLink(world, email, 'prove_address')
  // The link of a proof sets no password, and one that sets a password proves nothing of a session.
  assert.equal(outcome(await showing(proof)), '404 not_found')
  assert.equal(outcome(await acceptLink(world, proof, { password: squatterPassword })), '404 not_found')
  const [first, second] = [await shownFor(ada, person), await shownFor(ada, person)]
  const byOther = await shownFor(bob, squatter)
  assert.deepEqual(
    [(await showing(first)).status, (await showing(second)).status, (await showing(byOther)).status],
    [404, 200, 200],
  )
  const prove = (url: string) =>
    callAs(world, person.cookie, 'POST', '/console/me/email-proof/accept', { token: tokenOf(url) })
  assert.equal(outcome(await prove(second)), '404 not_found')
  // New password links end no proof, and the proof ends only what was mailed to others.
  await reset(email)
  const mailed = (await mailsTo(world, email)).at(-1)?.values.links as { account: string; link: string }[]
  assert.equal(mailed.length, 2)
  assert.equal((await prove(proof)).status, 200)
  const left = await Promise.all([second, byOther, ...mailed.map(({ link }) => link)].map(showing))
  assert.deepEqual(left.map(({ status }) => status).toSorted(), [200, 200, 200, 404])
  assert.equal((await showing(byOther)).status, 200, 'a link that was shown to an administrator')
})

test('a suspended person gets no link and uses none, and has both again later', async () => {
  const email = newEmail('suspended')
  const person = await join(ada, email, 'mail', ownPassword)
  await reset(email)
  const url = await mailedLink(world, email, 'password_reset')
  const suspend = async (suspended: boolean) => {
    const path = `/operator/persons/${person.person.uuid}`
    assert.equal((await call('operator', 'PATCH', path, { suspended })).status, 200)
  }
  await suspend(true)
  const count = (await mailsTo(world, email)).length
  await reset(email)
  assert.equal((await mailsTo(world, email)).length, count)
  const show = () => callAs(world, null, 'POST', '/console/invitations/show', { token: tokenOf(url) })
  assert.equal(outcome(await show()), '404 not_found')
  assert.equal(outcome(await acceptLink(world, url, { password: squatterPassword })), '404 not_found')
  assert.equal(outcome(await enter(email, ownPassword)), '401 unauthorized')
  await suspend(false)
  assert.equal((await show()).status, 200)
  assert.equal((await enter(email, ownPassword)).status, 201)
})

test('a person with a proved address is mailed password links by the account and the operator', async () => {
  const email = newEmail('proved-link')
  const person = await join(ada, email, 'mail', ownPassword)
  const sent = [
    await call('operator', 'POST', `/operator/persons/${person.person.uuid}/password-link`, {}),
    await call(ada, 'POST', `/open/members/${person.user}/invitation`, {}),
  ]
  assert.deepEqual(
    sent.map(({ status, body }) => [status, body.mailed_to]),
    [
      [201, email],
      [201, email],
    ],
  )
  const templates = (await mailsTo(world, email)).map(({ template }) => template)
  assert.deepEqual(templates.slice(-2), ['password_reset', 'password_reset'])
})

test('the spelling of an address gives no further requests for links', async () => {
  const email = newEmail('spelled')
  const ask = async (address: string) =>
    (await callAs(world, null, 'POST', '/console/password-reset', { email: address })).status
  const statuses = async (address: string, count: number) => {
    const found: number[] = []
    for (let i = 0; i < count; i++) found.push(await ask(address))
    return found
  }
  const most = paces.mail.burst + paces.clean.burst
  assert.deepEqual(new Set(await statuses(email, most)), new Set([202]))
  for (const spelling of [email, email.toUpperCase(), ` ${email}`]) assert.equal(await ask(spelling), 429, spelling)
})

test('without a mail server links are shown, and nothing counts as proved by mail', async () => {
  const plain = await makeWorld()
  const owner = await plain.tenant()
  const person = await member(plain, owner, 'owner')
  assert.deepEqual([person.boot.person.email_proved, person.boot.installation.smtp], [false, false])
  const body = { first_name: 'A', last_name: 'B', email: newEmail(), role: 'agent' }
  const refused = await plain.call(owner, 'POST', '/open/members', { ...body, delivery: 'mail' })
  assert.equal(outcome(refused), '409 mail_not_configured')
  assert.ok((await plain.call(owner, 'POST', '/open/members', body)).body.invite_url)
  const response = await callAs(plain, null, 'POST', '/console/password-reset', { email: person.email })
  assert.equal(response.status, 202)
  assert.equal(await plain.db.maybe`select 1 from jobs where kind = ${resetKind}`, null)
  const proof = await person.call('POST', '/console/me/email-proof')
  assert.equal(outcome(proof), '409 mail_not_configured')
})
