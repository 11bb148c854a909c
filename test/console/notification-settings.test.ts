import assert from 'node:assert/strict'
import { test } from 'node:test'
import { furtherWalk } from '../needs.ts'
import { member } from '../persons.ts'
import { until } from '../platform.ts'
import { startPushService } from '../push-receiver.ts'
import { isWellMade, openConsole } from './fixture.ts'

// The settings of notifications. What a browser shows is in notifications.test.ts: that takes the whole Chromium.

const { world, signIn } = await openConsole()
const service = await startPushService()

test(
  'a person chooses what, when and where to be notified, tries it, and revokes a browser',
  furtherWalk(),
  async () => {
    const person = await member(world, await world.tenant(), 'agent')
    await person.call('POST', '/open/me/push-subscriptions', service.subscribe('phone'))
    const page = await signIn(person, '/console/you/notifications', { permissions: [] })
    await page.getByRole('heading', { name: 'Notifications', level: 1 }).waitFor()
    await page.getByRole('row').getByText('None yet').waitFor()
    await isWellMade(page, 'settings of notifications')
    await page.getByLabel('New messages').uncheck()
    await page.getByLabel('Keep quiet hours').check()
    await page.getByLabel('From').fill('21:30')
    await page.getByLabel('Sound for messages and mentions').check()
    await isWellMade(page, 'quiet hours')
    const stored = async () => (await person.call('GET', '/console/session')).body.person.preferences.notifications
    await until(async () => (await stored())?.sound_messages === true)
    assert.deepEqual(await stored(), {
      ...{ messages: false, mentions: true, calls: true, sound_messages: true, sound_calls: true },
      ...{ quiet: { on: true, from: '21:30', until: '07:00' }, timezone: 'Europe/London' },
    })
    await page.reload()
    assert.equal(await page.getByLabel('New messages').isChecked(), false)
    assert.equal(await page.getByLabel('From').inputValue(), '21:30')
    await page.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Send a test' }).click()
    await page.getByText('Test sent').first().waitFor()
    await page.getByRole('button', { name: /^Actions/ }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await isWellMade(page, 'revoking a browser')
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('No browser gets your notifications yet.').waitFor()
    assert.deepEqual((await person.call('GET', '/open/me/push-subscriptions')).body.subscriptions, [])
  },
)
