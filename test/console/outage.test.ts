import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { makeInbox } from '../../src/domains/inbox/inbox-testing.ts'
import { isAccessible } from '../accessible.ts'
import { furtherWalk, needs } from '../needs.ts'
import { member } from '../persons.ts'
import { until } from '../platform.ts'
import { openConsole, withWorker } from './fixture.ts'

// The line of the console to its server: lost, announced, and back. The long form cuts it for minutes.

const { world, url, open, signIn, allow } = await openConsole()
const inbox = makeInbox(world)

/** Open connections to the server. */
const sockets = new Set<Socket>()
world.app.server.on('connection', (socket: Socket) => {
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
})

/** Cuts all connections to the server, and refuses new ones. @returns the function that ends the cut */
const cut = (): (() => void) => {
  const refuseNew = (socket: Socket) => socket.destroy()
  for (const socket of sockets) socket.destroy()
  world.app.server.on('connection', refuseNew)
  return () => void world.app.server.off('connection', refuseNew)
}

/** Lines that are cut. The long form has the others. */
const isLong = Number(process.env.TRUNKLINE_TEST_LONG ?? 0) > 0
const cuts = [
  { seconds: 5, isFrozen: true },
  ...(isLong ? [5, 60].map((seconds) => ({ seconds, isFrozen: false })) : []),
  ...(isLong ? [60, 600].map((seconds) => ({ seconds, isFrozen: true })) : []),
]

describe('a lost connection', needs('chromium'), () => {
  test('the line to the server opens for the account, and a lost connection is announced until it is back', async () => {
    const tenant = await world.tenant()
    const page = await open(`/console/${tenant.uuid}/developers/keys`, withWorker)
    const received: string[] = []
    page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => received.push(String(payload))))
    await page.getByRole('button', { name: 'Use a key instead' }).click()
    await page.getByRole('textbox', { name: 'API key or operator key' }).fill(tenant.key)
    allow(/ERR_/, /when fetching the script/, /WebSocket connection/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    await until(async () => received.some((frame) => frame.includes('"subscribed"') && frame.includes(tenant.uuid)))
    await page.context().setOffline(true)
    const banner = page.getByText('No connection since')
    await banner.waitFor()
    await isAccessible(page, 'lost connection')
    await page.context().setOffline(false)
    await banner.waitFor({ state: 'detached' })
    // The machine has a network, and the server does not answer.
    const restore = cut()
    await banner.waitFor()
    restore()
    await banner.waitFor({ state: 'detached' })
  })

  test(
    'a line that comes back after a burst brings later events too, though it repeats more than may be unanswered',
    furtherWalk(),
    async () => {
      const tenant = await world.tenant()
      const owner = await member(world, tenant, 'owner')
      const { number } = await inbox.giveNumber(tenant)
      // A second page: the line of the first one, which signs in, is not counted.
      const page = await (await signIn(owner, '', withWorker)).context().newPage()
      let [lines, received] = [0, 0]
      page.on('websocket', (socket) =>
        socket.on('framereceived', ({ payload }) => {
          if (String(payload).includes('"subscribed"')) lines++
          if (String(payload).includes('"sms.message.received"')) received++
        }),
      )
      await page.goto(`${url}/console/${tenant.uuid}/logs?contact=447911100005`)
      await until(async () => lines > 0)
      for (let n = 0; n < 300; n++) await inbox.write('+447911100004', number, 'One of many')
      await until(async () => received >= 300)
      allow(/ERR_/, /when fetching the script/, /WebSocket connection/)
      const before = lines
      cut()()
      await until(async () => lines > before)
      await inbox.write('+447911100005', number, 'After them')
      await page.getByRole('row', { name: /7911 100005/ }).waitFor()
    },
  )

  for (const { seconds, isFrozen } of cuts)
    test(
      `after a cut of ${seconds} s${isFrozen ? ' with the page frozen' : ''}, what happened meanwhile is there, without a reload`,
      furtherWalk(),
      async () => {
        const tenant = await world.tenant()
        const owner = await member(world, tenant, 'owner')
        const { number } = await inbox.giveNumber(tenant)
        await inbox.write('+447911100001', number, 'Before')
        const addWebhook = (path: string) =>
          world.call(tenant, 'POST', '/open/webhooks', {
            hook_url: `https://example.com/${path}`,
            event_names: ['contact.created'],
          })
        assert.equal((await addWebhook('before')).status, 201)
        const people = await signIn(owner, '/people', withWorker)
        const context = people.context()
        const [logs, webhooks] = [await context.newPage(), await context.newPage()]
        await logs.goto(`${url}/console/${tenant.uuid}/logs`)
        await webhooks.goto(`${url}/console/${tenant.uuid}/developers/webhooks`)
        const pages = [people, logs, webhooks]
        const devtools = await Promise.all(pages.map((page) => context.newCDPSession(page)))
        // The state alone reports a freeze to the page: the debugger stops its timers too.
        const freeze = () =>
          Promise.all(
            devtools.map(async (each) => {
              await each.send('Debugger.enable')
              await each.send('Page.setWebLifecycleState', { state: 'frozen' })
              await each.send('Debugger.pause')
            }),
          )
        const thaw = () =>
          Promise.all(
            devtools.map(async (each) => {
              await each.send('Debugger.disable')
              await each.send('Page.setWebLifecycleState', { state: 'active' })
            }),
          )
        for (const page of pages) {
          await page.getByRole('table').first().waitFor()
          await page.evaluate('window.isSame = true')
        }
        // The service worker may be loading.
        allow(/ERR_/, /when fetching the script/, /WebSocket connection/)
        const open = cut()
        if (isFrozen) await freeze()
        const body = { first_name: 'Mean', last_name: 'While', email: `mean.while.${seconds}@example.com` }
        assert.equal((await world.call(tenant, 'POST', '/open/members', body)).status, 201)
        await inbox.write('+447911100002', number, 'Meanwhile')
        assert.equal((await addWebhook('meanwhile')).status, 201)
        for (let n = 0; n < seconds; n += 60) {
          await new Promise((resolve) => setTimeout(resolve, Math.min(60, seconds - n) * 1_000))
          // The runner ends files that are silent for minutes.
          if (isLong) console.log(`cut for ${n + 60} s`)
        }
        open()
        const began = performance.now()
        if (isFrozen) await thaw()
        const shows = async (page: Page, row: RegExp) => {
          await page.getByRole('row', { name: row }).waitFor()
          return Math.round(performance.now() - began)
        }
        const times = await Promise.all([
          shows(people, /Mean While/),
          shows(logs, /7911 100002/),
          shows(webhooks, /example\.com\/meanwhile/),
        ])
        // Two seconds on an idle machine; the one of the tests is busy.
        if (isLong) console.log(`people, messages and webhooks are right again after ${times.join(', ')} ms`)
        assert.ok(Math.max(...times) <= (isLong ? 2_000 : 6_000), `${times} ms`)
        for (const page of pages) assert.equal(await page.evaluate('window.isSame'), true)
      },
    )
})
