import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import { deleteOldMails } from './jobs.ts'
import { mailsPerDay, perRecipient } from './limits.ts'
import { invitation, listed, makeMailWorld, queue } from './mail-testing.ts'
import { type NewMail, queueMail } from './ops.ts'
import * as store from './store.ts'

// Mails that wait: no worker runs, and nothing listens on the port of discard.
const world = await makeMailWorld(9)

test('values are sealed, and neither jobs nor lists show them', async () => {
  const id = await queue(world, invitation('sealed@example.com'))
  const { sealed, row } = await world.db.one<{ sealed: Buffer; row: string }>`
    select sealed_values as sealed, mails::text as row from mails where id = ${id}`
  const { text } = await world.db.one<{ text: string }>`select jobs::text as text from jobs where id = ${id}`
  const list = await world.call('operator', 'GET', '/operator/mails')
  assert.match(world.parts.seal.openBytes(sealed, `mail ${id}`).toString(), /Grace/)
  for (const shown of [row, sealed.toString('latin1'), text, JSON.stringify(list.body)])
    assert.doesNotMatch(shown, /invitation=abc|Grace/)
})

test('a mail whose transaction is rolled back is not queued', async () => {
  const rolled = world.db.begin(async (tx) => {
    await queueMail(tx, world.parts, invitation('rolled@example.com'))
    throw new Error('rolled back')
  })
  await assert.rejects(rolled, /rolled back/)
  assert.equal(await listed(world, 'rolled@example.com'), undefined)
})

test('a link that does not lead to the console is not mailed', async () => {
  for (const link of [
    'https://evil.example/#x',
    'http://127.0.0.1:8080.evil.example/',
    'http://127.0.0.1:8080@evil.example/',
    'javascript:alert(1)',
    'x',
  ])
    await assert.rejects(queue(world, invitation('ada@example.com', null, { link })), /does not lead to the console/)
})

test('a mailbox gets few invitations of an account in any spelling, and others are not held up', async () => {
  const [ada, bob] = [await world.tenant(), await world.tenant()]
  for (let i = 0; i < perRecipient.hour; i++) await queue(world, invitation(`Eve+${i}@Example.com`, ada.id))
  await assert.rejects(queue(world, invitation('eve@example.com', ada.id)), { code: 'mail_limit', status: 429 })
  await queue(world, invitation('eve@example.com', bob.id))
  await queue(world, invitation('grace@example.com', ada.id))
  await world.db.run`update mails set created_at = created_at - interval '61 minutes'`
  await queue(world, invitation('eve@example.com', ada.id))
})

test('an account on trial causes 20 mails a day, however many requests come at once', async () => {
  const { id } = await world.tenant({ onTrial: true })
  const sent = await Promise.allSettled(
    Array.from({ length: 30 }, (_, i) => queue(world, invitation(`p${i}@example.com`, id))),
  )
  assert.equal(sent.filter(({ status }) => status === 'fulfilled').length, 20)
  const { total } = await world.db.one<{
    total: number
  }>`select count(*)::integer as total from mails where account_id = ${id}`
  assert.equal(total, 20)
})

test('mails that are left out over a limit do not count for that of an account', async () => {
  const { id } = await world.tenant({ onTrial: true })
  const reset = (to: string): NewMail => ({
    ...{ to, account: id, template: 'password_reset' },
    values: { links: [{ account: null, link: 'http://127.0.0.1:8080/console' }], expires_at: '2099-01-01T00:00:00Z' },
  })
  for (let i = 0; i < mailsPerDay.trial + 1; i++) assert.ok(await queue(world, reset(`r${i}@example.com`)))
  for (let i = 0; i < mailsPerDay.trial; i++) await queue(world, invitation(`i${i}@example.com`, id))
  await assert.rejects(queue(world, invitation('one.more@example.com', id)), { code: 'mail_limit' })
  await world.db.run`update mails set created_at = created_at - interval '25 hours' where account_id = ${id}`
  assert.ok(await queue(world, invitation('next.day@example.com', id)))
})

test('a mail ends once: what is reported later changes nothing', async () => {
  const [id, other] = [
    await queue(world, invitation('once@example.com')),
    await queue(world, invitation('later@example.com')),
  ]
  const end = (state: 'sent' | 'failed', attempts: number) =>
    world.db.begin((tx) => store.end(tx, [{ id: id ?? '', state, attempts, outcome: `${state} ${attempts}` }]))
  await end('sent', 1)
  await end('failed', 2)
  await store.noteAttempt(world.db, id ?? '', 3, 'retried')
  const { state, attempts, outcome } = await listed(world, 'once@example.com')
  assert.deepEqual([state, attempts, outcome], ['sent', 1, 'sent 1'])
  assert.equal(await store.findQueued(world.db, id ?? ''), null)
  assert.deepEqual(
    [(await listed(world, 'later@example.com')).state, Boolean(await store.findQueued(world.db, other ?? ''))],
    ['queued', true],
  )
})

test('a notice over its limit is left out, and its cause goes on', async () => {
  const notice: NewMail = {
    ...{ to: 'notices@example.com', account: null },
    template: 'new_sign_in',
    values: {
      at: new Date().toISOString(),
      address: '203.0.113.7',
      browser: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
    },
  }
  for (let i = 0; i < perRecipient.hour; i++) assert.ok(await queue(world, notice))
  assert.equal(await queue(world, notice), null)
  // Another template has a limit of its own: sign-ins do not hide a changed password.
  const { at, address } = notice.values
  assert.ok(
    await queue(world, {
      ...notice,
      template: 'security_changed',
      values: { change: 'password_changed', at, address },
    }),
  )
})

test('without a mail server an invitation is refused and a notice left out', async () => {
  const plain = await makeWorld()
  await assert.rejects(queue(plain, invitation('ada@example.com')), { code: 'mail_not_configured', status: 409 })
  const values = { change: 'password_changed', at: new Date().toISOString(), address: '203.0.113.7' } as const
  assert.equal(await queue(plain, { to: 'ada@example.com', account: null, template: 'security_changed', values }), null)
  const tried = await plain.call('operator', 'POST', '/operator/mail/test', { to: 'ada@example.com' })
  assert.deepEqual([tried.status, tried.body.working, tried.body.step], [200, false, 'settings'])
})

test('an address that mail cannot go to is refused', async () => {
  for (const to of [
    'ada@localhost',
    'ada@127.0.0.1',
    'a,b@example.com',
    'ada@example.com\r\nBcc: eve@example.com',
    '"a b"@example.com',
  ])
    await assert.rejects(queue(world, invitation(to)), { status: 400 })
})

test('mails that no process sends fail after two days, and ended ones are deleted after a month', async () => {
  const id = await queue(world, invitation('old@example.com'))
  const pass = async (days: number) => {
    await world.db.run`update mails set created_at = created_at - make_interval(days => ${days}) where id = ${id}`
    await world.db.begin((tx) => deleteOldMails.run(tx, new Date()))
    return (await listed(world, 'old@example.com'))?.state
  }
  assert.deepEqual([await pass(1), await pass(2), await pass(28)], ['queued', 'failed', undefined])
})

test('an observer sees states but no addresses, and no tenant sees the mails', async () => {
  const tenant = await world.tenant()
  await queue(world, invitation('ada@example.com', tenant.id))
  const created = await world.call('operator', 'POST', '/operator/keys', { label: 'eyes', role: 'observer' })
  const headers = { 'x-operator-key': created.body.key }
  const seen = await world.app.inject({ url: '/operator/mails', headers })
  assert.deepEqual([seen.json().mails[0].to, seen.json().mails[0].state], ['•••', 'queued'])
  const owner = await member(world, tenant, 'owner')
  assert.equal((await owner.call('GET', '/operator/mails')).status, 403)
})
