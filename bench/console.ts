import { type Browser, chromium } from 'playwright-core'
import { joinPlatform } from '../test/console/fixture.ts'
import { buyNumber, startPlatform, until } from '../test/platform.ts'
import { temporaryFolder } from '../test/servers.ts'
import { benchRun } from './bench.ts'
import { serveYardstick } from './console-yardstick.ts'

// The inbox on a slowed processor, next to a page that has the shell, the styles and the rows, and no program.

const { rounds, number, record } = benchRun()
const rate = number('throttle')
const conversations = 50

/**
 * Runs before the scripts of a page: notes its largest paint, the paint of its rows, its longest task, and when `j` first
 * moves to a row. The paint of the rows counts where an earlier paint was larger.
 */
const probe = `(() => {
  const seen = (globalThis.seen = { paint: 0, keys: 0, longest: 0 })
  const watch = (type, note) => new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true })
  const painted = (at) => { seen.paint = Math.max(seen.paint, at) }
  watch('largest-contentful-paint', ({ startTime }) => painted(startTime))
  watch('longtask', ({ duration }) => { seen.longest = Math.max(seen.longest, duration) })
  let isThere = false
  const timer = setInterval(() => {
    if (!isThere && !document.querySelector('[data-row]')) return
    if (!isThere) requestAnimationFrame(() => setTimeout(() => painted(performance.now())))
    isThere = true
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))
    if (!document.activeElement?.dataset.row) return
    seen.keys = performance.now()
    clearInterval(timer)
  }, 20)
})()`

type Probe = { readonly paint: number; readonly keys: number; readonly longest: number }

const platform = await startPlatform(temporaryFolder())
const { number: from } = await buyNumber(platform)
for (let i = 0; i < conversations; i++) {
  const text = { to: from, text: `Message ${i} of the bench, as long as most of them` }
  await platform.call('POST', `/sandbox/handsets/+4477009${10_000 + i}/sms`, text)
}
const list = '/open/conversations?status=open&results_per_page=200'
await until(async () => (await platform.call('GET', list)).body.conversations.length >= conversations)
const agent = await joinPlatform(platform, 'Ada Agent')
const yardstick = await serveYardstick()
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
})

const [name = '', value = ''] = agent.cookie.split('=')

const load = async (from: Browser, url: string, slowdown: number): Promise<Probe> => {
  const context = await from.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: 'block' })
  await context.addCookies([{ name, value, url: platform.url, httpOnly: true, sameSite: 'Strict' }])
  await context.addInitScript(probe)
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  await page.goto(url)
  const seen = await until(async () => {
    const found = await page.evaluate<Probe>('globalThis.seen')
    return found.keys > 0 && found.paint > 0 && found
  })
  await context.close()
  return seen
}

const inbox = `${platform.url}/console/${agent.account}/inbox`
await load(browser, inbox, 1)
await load(browser, yardstick.url, 1)
for (let round = 0; round < rounds; round++) {
  const ours = await load(browser, inbox, rate)
  const theirs = await load(browser, yardstick.url, rate)
  const plain = await load(browser, inbox, 1)
  record({
    paint: ours.paint,
    'yardstick.paint': theirs.paint,
    'ratio.paint': ours.paint / theirs.paint,
    keys: ours.keys,
    'yardstick.keys': theirs.keys,
    'ratio.keys': ours.keys / theirs.keys,
    task: plain.longest,
  })
}
await browser.close()
yardstick.close()
await platform.end()
