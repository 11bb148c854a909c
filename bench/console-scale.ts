import { type CDPSession, chromium, type Page } from 'playwright-core'
import { benchRun } from './bench.ts'
import { startWithInbox } from './filled-inbox.ts'
import { key } from './platform.ts'

// The inbox of a large team in a browser: acts, a long scroll, and memory while conversations are switched.

const { number, word, record } = benchRun()
const acts = number('acts')

/**
 * Runs before the scripts of a page. Event Timing measures from a key or click to the next paint. A frame of the list is
 * blank when no row is at one of three of its points.
 */
const probe = `(() => {
  const seen = (globalThis.seen = { acts: new Map(), blank: 0, gap: 0 })
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId) seen.acts.set(interactionId, Math.max(seen.acts.get(interactionId) ?? 0, duration))
  }).observe({ type: 'event', durationThreshold: 16 })
  globalThis.painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
  globalThis.watchFrames = () => {
    let [last, blankSince] = [performance.now(), 0]
    seen.blank = seen.gap = 0
    const look = (now) => {
      seen.gap = Math.max(seen.gap, now - last)
      last = now
      const box = document.querySelector('.inbox-rows .list').getBoundingClientRect()
      const isWhole = [0.05, 0.5, 0.95].every((share) =>
        document.elementFromPoint(box.x + box.width / 2, box.y + box.height * share)?.closest('.inbox-rows li'))
      if (isWhole) blankSince = 0
      else {
        blankSince ||= now
        seen.blank = Math.max(seen.blank, now - blankSince)
      }
      requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  }
})()`

const at = (times: readonly number[], share: number) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN

const given = word('url')
const platform = await startWithInbox(number('conversations'), given)
const url = platform?.url ?? given
const opened = await fetch(`${url}/console/session`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-trunkline-console': '1' },
  body: JSON.stringify({ key: word('key') || key }),
})
// As the contract of the sign-in says.
const boot = (await opened.json()) as { accounts: { uuid: string }[] }
const [name = '', value = ''] = (opened.headers.get('set-cookie') ?? '').split(';')[0]?.split('=') ?? []

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
})

const openInbox = async (slowdown: number): Promise<{ page: Page; devtools: CDPSession }> => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: 'block' })
  await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Strict' }])
  await context.addInitScript(probe)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const devtools = await context.newCDPSession(page)
  await page.goto(`${url}/console/${boot.accounts[0]?.uuid}/inbox/open`)
  await page.locator('.inbox-rows li').first().waitFor()
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  return { page, devtools }
}

const painted = (page: Page) => page.evaluate('painted()')

/** Does an act many times. An act that is painted within 16 ms has no entry of Event Timing. */
const measureAct = async (page: Page, act: (n: number) => Promise<void>, after = async () => {}): Promise<number[]> => {
  const times: number[] = []
  for (let n = 0; n < acts / 5; n++) {
    await page.evaluate('seen.acts.clear()')
    await act(n)
    await painted(page)
    await painted(page)
    times.push(Math.max(16, ...(await page.evaluate<number[]>('[...seen.acts.values()]'))))
    await after()
  }
  return times
}

const measureActs = async (page: Page) => {
  const keys = page.keyboard
  await page.locator('.inbox-rows .inbox-link').first().focus()
  const next = await measureAct(page, () => keys.press('j'))
  const open = await measureAct(
    page,
    () => keys.press('Enter'),
    async () => {
      await page.locator('.thread-items').waitFor()
      await keys.press('j')
    },
  )
  await page.locator('.inbox-thread textarea').first().focus()
  const type = await measureAct(page, (n) => keys.press('abcdefgh'[n % 8] ?? ' '))
  await page.locator('.inbox-rows .inbox-link').first().focus()
  const filter = await measureAct(page, () => keys.press('f'))
  await page.locator('.inbox-rows .inbox-link').first().focus()
  const assign = await measureAct(
    page,
    () => keys.press('a'),
    async () => {
      if ((await page.locator('dialog[open], .listbox:popover-open, [role=menu]:popover-open').count()) > 0)
        await keys.press('Escape')
    },
  )
  return { open, next, filter, assign, type }
}

const loadedRows = async (page: Page) =>
  Number(await page.locator('.inbox-rows li').first().getAttribute('aria-setsize'))

const heapOf = async (devtools: CDPSession): Promise<number> => {
  await devtools.send('HeapProfiler.collectGarbage')
  return (await devtools.send('Runtime.getHeapUsage')).usedSize / 1e6
}

/** Scrolls down with the wheel, and then to both ends by keys. @returns the longest blank time and frame, ms */
const measureScroll = async (page: Page) => {
  await page.evaluate('watchFrames()')
  const box = await page.locator('.inbox-rows .list').boundingBox()
  await page.mouse.move((box?.x ?? 0) + 100, (box?.y ?? 0) + 300)
  const end = performance.now() + 600_000
  for (let n = 0; performance.now() < end; n++) {
    await page.mouse.wheel(0, 1_300)
    await painted(page)
    if (n % 20 === 0 && (await loadedRows(page)) >= number('rows')) break
  }
  await page.locator('.inbox-rows .list').focus()
  for (let n = 0; n < 20; n++) {
    await page.keyboard.press(n % 2 === 0 ? 'Home' : 'End')
    await page.waitForTimeout(100)
  }
  console.error(`${await loadedRows(page)} rows were loaded`)
  return await page.evaluate<{ blank: number; gap: number }>('({ blank: seen.blank, gap: seen.gap })')
}

const { page, devtools } = await openInbox(number('throttle'))
const times = await measureActs(page)
for (const [kind, list] of Object.entries(times)) record({ [kind]: at(list, 0.95) })
record({ acts: at(Object.values(times).flat(), 0.95) })
const frames = await measureScroll(page)
record({ blank: frames.blank, frame: frames.gap, 'heap.scrolled': await heapOf(devtools) })
await page.context().close()

const switching = await openInbox(1)
await switching.page.locator('.inbox-rows .inbox-link').first().focus()
const [half, whole] = [number('minutes') * 30_000, number('minutes') * 60_000]
const began = performance.now()
let middle = 0
while (performance.now() - began < whole) {
  await switching.page.keyboard.press('j')
  await switching.page.keyboard.press('Enter')
  await switching.page.locator('.thread-items').waitFor()
  if (middle === 0 && performance.now() - began > half) middle = await heapOf(switching.devtools)
}
const heap = await heapOf(switching.devtools)
record({ heap, 'heap.growth': (heap / middle - 1) * 100 })
await browser.close()
await platform?.stop()
