import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { makeInbox } from '../../src/domains/inbox/inbox-testing.ts'
import { wholeChromium } from '../chromium.ts'
import { furtherWalk, needs } from '../needs.ts'
import { member } from '../persons.ts'
import { until } from '../platform.ts'
import { isWellMade, openConsole, withWorker } from './fixture.ts'

// Notifications in a real browser, and the whole one: the headless shell shows none. Their settings are in
// notification-settings.test.ts. Chromium without the service of its vendor cannot subscribe, so pushes are handed to
// the service worker by the developer tools, as the push service would.

const { world, url, signIn, allow } = await openConsole({}, {}, '127.0.0.1', wholeChromium)
const inbox = makeInbox(world)

const shown = (page: Page) =>
  page.evaluate<{ title: string; body: string; tag: string; url: string }[]>(`
    navigator.serviceWorker.ready.then(async (registration) =>
      (await registration.getNotifications()).map(({ title, body, tag, data }) => ({ title, body, tag, url: data.url })))`)

/** Hands pushes to the service worker of a page. */
const pusher = async (context: BrowserContext, page: Page) => {
  await page.evaluate('navigator.serviceWorker.ready')
  const devtools = await context.newCDPSession(page)
  const registrations: string[] = []
  devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: found }) =>
    registrations.push(...found.map(({ registrationId }) => registrationId)),
  )
  await devtools.send('ServiceWorker.enable')
  await until(async () => registrations.length > 0)
  /** Delivers a push until it has its effect: the browser drops those that come while it starts the worker. */
  return async (message: object, effect: () => Promise<boolean>) => {
    const data = JSON.stringify(message)
    await until(async () => {
      await devtools.send('ServiceWorker.deliverPushMessage', {
        ...{ origin: url, registrationId: registrations.at(-1) ?? '', data },
      })
      return effect()
    })
  }
}

describe('notifications', needs('chromium'), () => {
  test('a refused permission, and a browser without a push service, are explained', furtherWalk(), async () => {
    const person = await member(world, await world.tenant(), 'agent')
    const page = await signIn(person, '/console/you/notifications', withWorker)
    // Headless browsers refuse without a question.
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText(/blocked notifications of this site/).waitFor()
    await isWellMade(page, 'refused permission')
    await page.context().grantPermissions(['notifications'], { origin: url })
    await page.reload()
    allow(/push|AbortError|Registration failed/i)
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText(/push service of this browser cannot be reached/).waitFor()
    await isWellMade(page, 'no push service')
  })

  test('the worker shows one notification for a conversation, names what it may, and withdraws it', async () => {
    const person = await member(world, await world.tenant(), 'agent')
    const page = await signIn(person, '/console/you/notifications', { permissions: ['notifications'], ...withWorker })
    const push = await pusher(page.context(), page)
    const [account, tag] = [person.boot.accounts[0].uuid, '01a20a83-5bbf-7000-8349-551db76c4ca9']
    const conversation = `CNV${tag}`
    await push({ kind: 'message', tag, account, conversation, count: 1 }, async () => (await shown(page)).length === 1)
    const address = `/console/${account}/inbox/all/${conversation}`
    assert.deepEqual(await shown(page), [{ title: 'New message', body: '', tag, url: address }])
    await push(
      { kind: 'message', tag, account, conversation, count: 3, name: 'Ada Lovelace' },
      async () => (await shown(page))[0]?.title === 'New message from Ada Lovelace',
    )
    assert.deepEqual(
      (await shown(page)).map(({ body }) => body),
      ['3 conversations wait for you'],
    )
    await push(
      { kind: 'call', tag: 'call', account, call: 'CDR1', count: 1, name: '+44 7700 900003' },
      async () => (await shown(page)).length === 2,
    )
    await push({ kind: 'close', tag, account }, async () => (await shown(page)).length === 1)
    assert.deepEqual(
      (await shown(page)).map(({ title }) => title),
      ['Incoming call from +44 7700 900003'],
    )
  })

  test(
    'a click on a notification brings the open page to the conversation, and no other address',
    furtherWalk(),
    async () => {
      const person = await member(world, await world.tenant(), 'agent')
      const page = await signIn(person, '/console/you/notifications', { permissions: ['notifications'], ...withWorker })
      await pusher(page.context(), page)
      const account = person.boot.accounts[0].uuid
      await page.reload() // so that the worker controls it
      await page.getByRole('heading', { name: 'Notifications', level: 1 }).waitFor()
      const worker = page.context().serviceWorkers()[0] ?? assert.fail('the page has no service worker')
      const click = (address: string) =>
        worker.evaluate(`(async () => {
        await self.registration.showNotification('x', { tag: 'clicked', data: { url: ${JSON.stringify(address)} } })
        const [notification] = await self.registration.getNotifications({ tag: 'clicked' })
        self.dispatchEvent(new NotificationEvent('notificationclick', { notification }))
      })()`)
      await click('https://elsewhere.example/')
      await click(`/console/you/sessions?of=${account}`)
      await page.waitForURL(/\/console\/you\/sessions/)
      assert.deepEqual(
        (await shown(page)).map(({ tag }) => tag),
        [],
      )
    },
  )

  test(
    'a page in the background counts news in its title and notifies; looking at it ends both',
    furtherWalk(),
    async () => {
      const tenant = await world.tenant()
      const person = await member(world, tenant, 'agent')
      const line = await inbox.giveNumber(tenant)
      const page = await signIn(person, '/console/you/sessions', { permissions: ['notifications'], ...withWorker })
      const frames: string[] = []
      page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => frames.push(String(payload))))
      await page.reload()
      await until(async () => frames.some((frame) => /"subscribed".*inbox/.test(frame)))
      const look = (isAway: boolean) =>
        page.evaluate(`
        Object.defineProperty(document, 'hasFocus', { configurable: true, value: () => ${!isAway} });
        ${isAway ? '' : "window.dispatchEvent(new Event('focus'))"}`)
      const title = () => page.title()
      await look(true)
      await inbox.write('+447911100001', line.number, 'Secret words')
      await until(async () => /^\(1\) /.test(await title()))
      await inbox.write('+447911100001', line.number, 'More')
      await inbox.write('+447911100002', line.number, 'Another')
      await until(async () => /^\(2\) Your sessions/.test(await title()))
      // The worker starts after the page.
      await until(async () => (await shown(page)).length === 2)
      assert.deepEqual([...new Set((await shown(page)).map(({ title }) => title))], ['New message'])
      assert.match(await page.evaluate<string>('document.querySelector("link[rel=icon]").href'), /icon-unread/)
      await look(false)
      await until(async () => !/^\(/.test(await title()))
      assert.doesNotMatch(await page.evaluate<string>('document.querySelector("link[rel=icon]").href'), /icon-unread/)
      // Answered by a colleague.
      const { conversations } = (await world.call(tenant, 'GET', '/open/conversations')).body
      for (const { uuid } of conversations)
        await world.call(tenant, 'PATCH', `/open/conversations/${uuid}`, { status: 'closed' })
      await until(async () => (await shown(page)).length === 0)
    },
  )
})
