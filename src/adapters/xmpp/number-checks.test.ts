import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import { startEjabberd } from '../../../test/ejabberd.ts'
import { needs } from '../../../test/needs.ts'
import { password, startProsody } from '../../../test/prosody.ts'
import { openRawServer } from '../../../test/raw-xmpp.ts'
import { openXmppClient } from '../../../test/xmpp-client.ts'
import { line, link, recordEvents, settingsFor } from './xmpp-testing.ts'

// Account checks against third-party servers. ejabberd answers its administrator for any address.

const ours = '+15550000001'
const online = '+15550000002'
const offline = '+15550000003'
const missing = '+15550009999'

const servers = {
  ejabberd: { start: startEjabberd, program: 'ejabberdctl' },
  Prosody: { start: startProsody, program: 'prosody' },
} as const

const modes: readonly (Partial<XmppSettings> & Pick<XmppSettings, 'mode'>)[] = [
  { mode: 'client', admin: 'admin', admin_password: 'of everybody' },
  { mode: 'client' },
  { mode: 'component', admin: 'check' },
  { mode: 'component' },
]

for (const [name, { start, program }] of Object.entries(servers)) {
  test(`${name}: a check finds accounts that are online and offline, and no missing one`, needs(program), async (t) => {
    const server = await start(
      t,
      [ours, online, offline].map((number) => number.slice(1)),
    )
    const friend = await openXmppClient(t, server, online.slice(1))
    for (const more of modes)
      await t.test(`${more.mode}${more.admin ? ' with an administrator' : ''}`, async (inner) => {
        const us = line(ours)
        const network = await link(inner, settingsFor(more.mode, server, more), recordEvents(), [us])
        const found = await network.check?.(us.channel, [online, offline, missing], false)
        assert.deepEqual(
          found?.map(({ there }) => there),
          ['yes', 'yes', 'no'],
        )
        await network.close()
      })
    assert.deepEqual(friend.texts(), [])
  })
}

const base = { mode: 'client', host: '127.0.0.1', domain: 'localhost', password } as const

test('a server that refuses nothing leaves a check unknown', async (t) => {
  const server = await openRawServer(t, ours.slice(1))
  const us = line(ours)
  const settings: XmppSettings = { ...base, port: server.port, tls_ca: server.ca, encryption: 'direct' }
  const network = await link(t, settings, recordEvents(), [us])
  const found = await network.check?.(us.channel, [online, missing], false)
  assert.deepEqual(
    found?.map(({ there }) => there),
    ['unknown', 'unknown'],
  )
})
