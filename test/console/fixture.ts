import assert from 'node:assert/strict'
import { after, afterEach } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { isAccessible } from '../accessible.ts'
import { launchChromium } from '../chromium.ts'
import { isFullForm } from '../needs.ts'
import { type Browser as Person, signIn as signInBy } from '../persons.ts'
import type { Platform } from '../platform.ts'
import { makeWorld, type Tenant, type World } from '../world.ts'

// What every test of the console needs: a listening installation, one browser, people who are signed in, and a watch
// that fails a test whose pages broke a rule. Use it once in a file, at its top:
//
//   const { signIn, world } = await openConsole()
//   test('…', needs('chromium'), async () => {
//     const page = await signIn(await world.tenant(), '/developers/keys')
//
// Browsers end with each test. `member` of test/persons.ts makes people with a role, for `signIn`.

/** Milliseconds that a page may take for one step. The machine of the tests is busy. */
const patience = 30_000

export const widths = { desktop: 1440, tablet: 768, phone: 360 } as const

/** How far the content of a page may jump without a cause by the person (Cumulative Layout Shift). */
const maxShift = 0.02

/** A page's report: the sum of the jumps in its worst five seconds, and what moved. */
type Shift = { readonly sum: number; readonly moved: string }

/** Runs in every page before its own scripts: sums up jumps as web.dev/cls says, and reports each new maximum. */
const watchShifts = `(() => {
  let [sum, first, last, most, moved, input] = [0, 0, 0, 0, '', -Infinity]
  // Back shows the page as it was, and then as it is now.
  for (const name of ['pointerdown', 'keydown', 'input', 'popstate']) addEventListener(name, () => { input = performance.now() }, true)
  const isOfThread = ({ node }) => (node?.nodeType === 1 ? node : node?.parentElement)?.closest('[role=log]')
  const nameOf = ({ node, previousRect: from, currentRect: to }) =>
    (node?.nodeType === 1 ? node.tagName.toLowerCase() + '.' + node.className : node?.parentNode?.className ?? 'gone') +
    ' ' + [from.x, from.y, from.width, from.height].map(Math.round) + ' to ' + [to.x, to.y, to.width, to.height].map(Math.round)
  new PerformanceObserver((list) => {
    for (const { value, startTime, hadRecentInput, sources } of list.getEntries()) {
      // The answer to an act may come late on the busy machine of the tests: 3 s instead of half a second.
      if (hadRecentInput || startTime - input < 3000) continue
      // A message that arrives moves those before it: a thread ends at its newest.
      if (sources.length > 0 && sources.every(isOfThread)) continue
      if (startTime - last > 1000 || startTime - first > 5000) [sum, first, moved] = [0, startTime, '']
      last = startTime
      sum += value
      moved += sources.map(nameOf).join('; ') + ' | '
      if (sum > most) globalThis.reportShift?.({ sum: (most = sum), moved })
    }
  }).observe({ type: 'layout-shift', buffered: true })
})()`

/** Who signs in: an account's key, the operator's key, or a browser of test/persons.ts. */
type Visitor = Tenant | 'operator' | Pick<Person, 'cookie' | 'boot'>

/** A browser, and a watch over its pages. */
type ConsoleBrowser<V> = {
  /** Opens a page in a browser context of its own, without a session. @param path after the origin */
  open(path: string, options?: BrowserContextOptions): Promise<Page>
  /** Signs in and opens a page. @param path after `/console/ACC…`, or a whole one that begins with `/console` */
  signIn(visitor: V, path?: string, options?: BrowserContextOptions): Promise<Page>
  /** Permits faults that match, until the end of the test: for tests of refusals. */
  allow(...faults: RegExp[]): void
}

export type ConsoleFixture = ConsoleBrowser<Visitor> & {
  readonly world: World
  readonly url: string
  /** Requests that reached the server since the last call, as `GET /console`. */
  requests(): readonly string[]
}

/** What Chromium says at times on a busy machine without a loudspeaker. */
const noSound = /^The AudioContext encountered an error from the audio device/

/**
 * The options of a context with the service worker of the console, which loads and stores every asset. That takes as long
 * as the page itself, so that only tests of what the worker does have it: without a line, and with notifications.
 */
export const withWorker: BrowserContextOptions = { serviceWorkers: 'allow' }
const noWorker = /^Service Worker registration blocked by Playwright/

/** What differs between the browsers of tests. */
type BrowserChoice = {
  readonly flags?: readonly string[] | undefined
  /** The program. Default: the headless shell. */
  readonly path?: string | undefined
  /** A script that runs in every page before its own. */
  readonly script?: string | undefined
}

/** @param sessionOf signs a visitor in @param always faults of every test that are permitted */
const watchedBrowser = <V>(
  url: string,
  always: readonly RegExp[],
  sessionOf: (visitor: V) => Promise<{ cookie: string; account: string }>,
  { flags = [], path, script }: BrowserChoice = {},
): ConsoleBrowser<V> => {
  let started: Promise<Browser> | undefined
  const browser = () => {
    started ??= launchChromium(flags, path)
    return started
  }
  after(async () => (await started)?.close())

  let faults: string[] = []
  let allowed: readonly RegExp[] = always
  afterEach(async () => {
    const found = faults.filter((fault) => ![...allowed, noSound, noWorker].some((pattern) => pattern.test(fault)))
    for (const context of (await started)?.contexts() ?? []) await context.close()
    // What pages did while they were closed belongs to no test.
    faults = []
    allowed = always
    assert.deepEqual(found, [], 'errors, policy violations, failed requests, or requests that leave the server')
  })

  const watch = (page: Page) => {
    page.setDefaultTimeout(patience)
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(`${message.text()} ${message.location().url}`)
    })
    page.on('pageerror', ({ name, message, stack }) => faults.push(stack || `${name}: ${message}`))
    page.on('request', (request) => {
      const address = request.url()
      if (!address.startsWith(`${url}/`) && !/^(?:data|blob):/.test(address)) faults.push(`foreign: ${address}`)
    })
    page.on('response', (response) => {
      if (response.status() >= 400) faults.push(`${response.status()} ${response.request().method()} ${response.url()}`)
    })
  }

  const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    const context = await (await browser()).newContext({
      viewport: { width: widths.desktop, height: 900 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'Europe/London',
      serviceWorkers: 'block',
      ...options,
    })
    context.on('page', watch)
    await context.exposeBinding('reportShift', ({ page }, { sum, moved }: Shift) => {
      if (sum > maxShift) faults.push(`layout shift ${sum.toFixed(3)} at ${page.url()}: ${moved}`)
    })
    await context.addInitScript(watchShifts)
    if (script !== undefined) await context.addInitScript(script)
    return context
  }

  return {
    open: async (path, options) => {
      const page = await (await newContext(options)).newPage()
      await page.goto(url + path)
      return page
    },
    signIn: async (visitor, path = '', options = {}) => {
      const context = await newContext(options)
      const { cookie, account } = await sessionOf(visitor)
      const [name = '', value = ''] = cookie.split('=')
      await context.addCookies([{ name, value, url, httpOnly: true, sameSite: 'Strict' }])
      const page = await context.newPage()
      await page.goto(url + (path.startsWith('/console') ? path : `/console/${account}${path}`))
      return page
    },
    allow: (...patterns) => {
      allowed = [...allowed, ...patterns]
    },
  }
}

/**
 * Makes an installation with a browser, which starts with the first page. Both end with the file.
 * @param overrides such as the sandbox's carriers: see `makeWorld`
 * @param host by which browsers reach it: passkeys need the name localhost
 * @param path of the browser: the headless shell shows no notifications
 */
export const openConsole = async (
  settings: NodeJS.ProcessEnv = {},
  overrides: Parameters<typeof makeWorld>[2] = {},
  host: '127.0.0.1' | 'localhost' = '127.0.0.1',
  path?: string,
): Promise<ConsoleFixture> => {
  let url = `http://${host}:8080`
  const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', ...settings }, {}, { ...overrides, publicUrl: () => url })
  url = (await world.app.listen({ host: '127.0.0.1', port: 0 })).replace('127.0.0.1', host)
  let requests: string[] = []
  world.app.server.on('request', ({ method, url = '' }) => requests.push(`${method} ${url}`))

  const sessionOf = async (visitor: Visitor): Promise<{ cookie: string; account: string }> => {
    const { cookie, boot } =
      typeof visitor === 'object' && 'cookie' in visitor
        ? visitor
        : await signInBy(world, { key: visitor === 'operator' ? world.operatorKey : visitor.key })
    return { cookie, account: boot.accounts[0]?.uuid ?? '' }
  }

  return {
    // The start page shows a handset of the sandbox, which no carrier serves without a simulator. No process runs calls.
    ...watchedBrowser(url, [/\/voice' failed/, ...(overrides.simulator ? [] : [/\/sandbox\/handsets\//])], sessionOf, {
      path,
    }),
    world,
    url,
    requests: () => {
      const seen = requests
      requests = []
      return seen
    },
  }
}

/** Chromium with a microphone that is allowed and beeps. */
export const mediaFlags = [
  ...['--allow-loopback-in-peer-connection', '--autoplay-policy=no-user-gesture-required'],
  ...['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'],
]

/** Runs in a page: its `heard()` sums a figure of the sound that calls receive. */
export const soundMeter = (figure: 'packetsReceived' | 'totalAudioEnergy') => `
  window.connections = []
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...options) {
      super(...options)
      connections.push(this)
    }
  }
  window.heard = async () => {
    let sum = 0
    for (const connection of connections)
      for (const [, { type, ${figure}: one = 0 }] of await connection.getStats())
        if (type === 'inbound-rtp') sum += one
    return sum
  }`

/** A person of a whole platform, with a session. */
export type Member = {
  readonly cookie: string
  readonly account: string
  readonly user: string
  readonly name: string
}

const consoleHeaders = { 'content-type': 'application/json', 'x-trunkline-console': '1' }

const openSession = async (url: string, path: string, body: object): Promise<Member> => {
  const answer = await fetch(url + path, { method: 'POST', headers: consoleHeaders, body: JSON.stringify(body) })
  // As the contract of the sign-in says.
  const boot = (await answer.json()) as {
    accounts: { uuid: string; user_uuid?: string }[]
    person?: { name: string }
  }
  assert.equal(answer.status, 201, JSON.stringify(boot))
  const [account] = boot.accounts
  return {
    cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '',
    account: account?.uuid ?? '',
    user: account?.user_uuid ?? '',
    name: boot.person?.name ?? '',
  }
}

/** Invites a person into the account of a platform, and signs the person in. */
export const joinPlatform = async (
  { url, call }: Pick<Platform, 'url' | 'call'>,
  name: string,
  role: 'owner' | 'admin' | 'agent' = 'agent',
): Promise<Member> => {
  const [first_name = '', last_name = ''] = name.split(' ')
  const email = `${first_name.toLowerCase()}.walk@example.com`
  const { invite_url } = (await call('POST', '/open/members', { first_name, last_name, email, role })).body
  const token = String(invite_url).split('#')[1]
  return openSession(url, '/console/invitations/accept', { token, name, password: 'seven green boats sail' })
}

/**
 * Opens a browser at a whole platform, with carriers, jobs and deliveries. A visitor is an API key, or the cookie of a
 * person and the account.
 */
export const openPlatform = (
  { url }: { readonly url: string },
  choice: BrowserChoice = {},
): ConsoleBrowser<string | Pick<Member, 'cookie' | 'account'>> =>
  watchedBrowser(
    url,
    [],
    async (visitor) => (typeof visitor === 'string' ? openSession(url, '/console/session', { key: visitor }) : visitor),
    choice,
  )

/** Asserts that the page fits a width without scrolling sideways. */
export const fitsWidth = async (page: Page, width: number): Promise<void> => {
  await page.setViewportSize({ width, height: 800 })
  const content = await page.evaluate<number>(`Math.max(
    ...[document.documentElement, ...document.querySelectorAll('.frame-main')].map(({ scrollWidth }) => scrollWidth))`)
  assert.ok(content <= width, `${page.url()} is ${content} px wide in ${width} px`)
}

/** Asserts that a state of a page is accessible, in light and dark, and fits all widths: in the full form. */
export const isWellMade = async (page: Page, state: string): Promise<void> => {
  if (!isFullForm) return
  await isAccessible(page, state)
  for (const width of [widths.phone, widths.tablet, widths.desktop]) await fitsWidth(page, width)
}
