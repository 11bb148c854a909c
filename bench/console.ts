import { type Browser, chromium } from 'playwright-core'
import { apiKey, buyNumber, startPlatform, until } from '../test/platform.ts'
import { temporaryFolder } from '../test/servers.ts'
import { benchRun } from './bench.ts'
import { serveYardstick } from './console-yardstick.ts'

// The first screen of the console on a slowed processor, next to a page that has its HTML and styles and no program.

const { rounds, number, record } = benchRun()
const rate = number('throttle')
const messages = 50

/** Runs before the scripts of a page: notes its largest paint, its longest task, and when a key first has an effect. */
const probe = `(() => {
  const seen = (globalThis.seen = { paint: 0, keys: 0, longest: 0 })
  const watch = (type, note) => new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true })
  watch('largest-contentful-paint', ({ startTime }) => { if (!seen.keys) seen.paint = startTime })
  watch('longtask', ({ duration }) => { seen.longest = Math.max(seen.longest, duration) })
  const timer = setInterval(() => {
    const isPainted = document.querySelectorAll('tbody tr').length >= ${messages}
    if (!isPainted || seen.keys) return
    if (document.querySelector('dialog[open]')) { seen.keys = performance.now(); clearInterval(timer) }
    else document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))
  }, 20)
})()`

type Probe = { readonly paint: number; readonly keys: number; readonly longest: number }

const platform = await startPlatform(temporaryFolder())
const { number: from } = await buyNumber(platform)
for (let i = 0; i < messages; i++)
  await platform.call('POST', '/open/sms/send', { from_number: from, to_number: '+447700900123', text: `Message ${i}` })
await until(async () => (await platform.call('GET', '/open/sms/messages')).body.messages.length >= messages)
const yardstick = await serveYardstick()
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
})

const opened = await fetch(`${platform.url}/console/session`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-trunkline-console': '1' },
  body: JSON.stringify({ key: apiKey }),
})
// As the contract of the sign-in says.
const boot = (await opened.json()) as { accounts: { uuid: string }[] }
const [name = '', value = ''] = (opened.headers.get('set-cookie') ?? '').split(';')[0]?.split('=') ?? []

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
    return found.keys > 0 && found
  })
  await context.close()
  return seen
}

const list = `${platform.url}/console/${boot.accounts[0]?.uuid}/logs`
await load(browser, list, 1)
await load(browser, yardstick.url, 1)
for (let round = 0; round < rounds; round++) {
  const ours = await load(browser, list, rate)
  const theirs = await load(browser, yardstick.url, rate)
  const plain = await load(browser, list, 1)
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
