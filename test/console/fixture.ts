import assert from 'node:assert/strict'
import { after, afterEach } from 'node:test'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { isAccessible } from '../accessible.ts'
import { makeWorld, type Tenant, type World } from '../world.ts'

// What every test of the console needs: a listening installation, one browser, people who are signed in, and a watch
// that fails a test whose pages broke a rule. Use it once in a file, at its top:
//
//   const { signIn, world } = await openConsole()
//   test('…', async () => {
//     const page = await signIn(await world.tenant(), '/developers/keys')

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run']
const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync']

/** Milliseconds that a page may take for one step. The machine of the tests is busy. */
const patience = 30_000

export const widths = { desktop: 1440, tablet: 768, phone: 360 } as const

type Visitor = Tenant | 'operator' | null

export type ConsoleFixture = {
  readonly world: World
  readonly url: string
  readonly browser: Browser
  /** Opens a page in a browser context of its own, without a session. @param path after the origin */
  open(path: string, options?: BrowserContextOptions): Promise<Page>
  /** Signs in by a key and opens a page. @param path after `/console/ACC…`, or a whole one that begins with `/console` */
  signIn(visitor: Exclude<Visitor, null>, path?: string, options?: BrowserContextOptions): Promise<Page>
  /** Permits faults that match, until the end of the test: for tests of refusals. */
  allow(...faults: RegExp[]): void
  /** Faults so far: errors and warnings of the console, failed requests, foreign requests, policy violations. */
  faults(): readonly string[]
}

/** Makes an installation with a browser. Both end with the file. */
export const openConsole = async (settings: NodeJS.ProcessEnv = {}): Promise<ConsoleFixture> => {
  let url = 'http://127.0.0.1:8080'
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', ...settings }, {}, { publicUrl: () => url })
  url = await world.app.listen({ host: '127.0.0.1', port: 0 })
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: [...flags, ...quiet] })
  after(() => browser.close())

  let faults: string[] = []
  let allowed: RegExp[] = []
  afterEach(() => {
    const found = faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault)))
    faults = []
    allowed = []
    assert.deepEqual(found, [], 'errors, policy violations, failed requests, or requests that leave the server')
  })

  const watch = (page: Page) => {
    page.setDefaultTimeout(patience)
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(message.text())
    })
    page.on('pageerror', ({ message, stack }) => faults.push(stack ?? message))
    page.on('request', (request) => {
      const address = request.url()
      if (!address.startsWith(`${url}/`) && !/^(?:data|blob):/.test(address)) faults.push(`foreign: ${address}`)
    })
    page.on('response', (response) => {
      if (response.status() >= 400) faults.push(`${response.status()} ${response.request().method()} ${response.url()}`)
    })
  }

  const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    const context = await browser.newContext({
      viewport: { width: widths.desktop, height: 900 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'Europe/London',
      ...options,
    })
    context.on('page', watch)
    return context
  }

  const open: ConsoleFixture['open'] = async (path, options) => {
    const page = await (await newContext(options)).newPage()
    await page.goto(url + path)
    return page
  }

  const signIn: ConsoleFixture['signIn'] = async (visitor, path = '', options = {}) => {
    const context = await newContext(options)
    const key = visitor === 'operator' ? world.operatorKey : visitor.key
    const answer = await context.request.post(`${url}/console/session`, {
      data: { key },
      headers: { 'x-trunkline-console': '1', origin: url },
    })
    assert.equal(answer.status(), 201, await answer.text())
    const page = await context.newPage()
    const prefix = path.startsWith('/console') ? '' : visitor === 'operator' ? '/console' : `/console/${visitor.uuid}`
    await page.goto(url + prefix + path)
    return page
  }

  return {
    world,
    url,
    browser,
    open,
    signIn,
    allow: (...patterns) => {
      allowed.push(...patterns)
    },
    faults: () => faults,
  }
}

/** Asserts that the page fits a width without scrolling sideways. */
export const fitsWidth = async (page: Page, width: number): Promise<void> => {
  await page.setViewportSize({ width, height: 800 })
  const content = await page.evaluate<number>('document.documentElement.scrollWidth')
  assert.ok(content <= width, `${page.url()} is ${content} px wide in ${width} px`)
}

/** Asserts that a state of a page is accessible, in light and dark, and fits all widths. */
export const isWellMade = async (page: Page, state: string): Promise<void> => {
  await isAccessible(page, state)
  for (const width of [widths.phone, widths.tablet, widths.desktop]) await fitsWidth(page, width)
}
