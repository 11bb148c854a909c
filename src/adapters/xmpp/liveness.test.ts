import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../../../test/needs.ts'
import { startProsody, until } from '../../../test/prosody.ts'
import { line, link, makeVault, outgoing, recordEvents, settingsFor } from './xmpp-testing.ts'

const ours = '+15550000001'
const theirs = '+15550000002'
const us = line(ours)
const users = ['15550000001', '15550000002']

for (const mode of ['client', 'component'] as const) {
  test(`${mode}: a silent server is detected, and the link recovers`, needs('prosody'), async (t) => {
    const server = await startProsody(t, users)
    const seen = recordEvents()
    const network = await link(t, settingsFor(mode, server), seen, [us])
    assert.equal(await network.ping(us.channel), true)
    server.signal('SIGSTOP')
    t.after(() => server.signal('SIGCONT'))
    const checked = network.check?.(us.channel, [theirs], false)
    assert.equal(await network.ping(us.channel), false)
    assert.equal((await checked)?.[0]?.there, 'unknown')
    // The platform pings every 5 s; an idle link is checked after 12 s.
    assert.equal(await network.ping(us.channel), false)
    await until('it is detected', () => seen.phase(us.channel) === 'disconnected', 8)
    assert.equal((await network.send(us.channel, outgoing('1', 'later', theirs))).outcome, 'later')
    server.signal('SIGCONT')
    await until('it is up again', () => seen.phase(us.channel) === 'connected')
    assert.equal((await network.check?.(us.channel, [theirs], false))?.[0]?.there, 'yes')
  })
}

test('a number whose vault cannot be written is linked and disturbs no other', needs('prosody'), async (t) => {
  const server = await startProsody(t, users)
  const vault = makeVault()
  let isBroken = false
  const write: typeof vault.write = async (channel, entries) => {
    if (isBroken) throw new Error('the database is down')
    await vault.write(channel, entries)
  }
  const seen = recordEvents({ ...vault, write })
  const settings = settingsFor('client', server)
  const first = await link(t, settings, seen, [us])
  const created = await first.createGroup?.(us.channel, { name: 'Team', description: null, participants: [] })
  assert.equal(created?.outcome, 'done')
  await first.close()
  // The nickname in the group has changed and would be stored.
  isBroken = true
  const again = recordEvents({ ...vault, write })
  const second = await link(t, settings, again, [{ ...us, name: 'Another' }])
  await until('it can send', async () => {
    const sent = await second.send(us.channel, outgoing('v1', 'still here', theirs))
    return sent.outcome === 'done'
  })
  const refused = await second.setStatus?.(us.channel, 'open').catch((error: Error) => error.message)
  assert.equal(refused, 'the database is down')
})
