import assert from 'node:assert/strict'
import { after, afterEach } from 'node:test'
import { openFirefox } from '../firefox.ts'
import { type Screen, screenOf } from '../firefox-page.ts'
import type { Member } from './fixture.ts'

// The console in Firefox, with the rules of fixture.ts: no errors, no breach of the policy, no failed or foreign request.

/** Reports breaches of the policy, which Firefox does not log to the page. */
const watchPolicy = `addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
  console.error('policy: ' + effectiveDirective + ' ' + blockedURI))`

/** Parts of the events of WebDriver BiDi that are read. */
type Entry = { readonly level?: string; readonly type?: string; readonly text?: string | null }
type Exchange = {
  readonly request?: { readonly url: string; readonly method: string }
  readonly response?: { readonly status: number }
}

/** @returns what is wrong with an event of a page, or null */
const faultOf = (origin: string, event: string, params: Entry & Exchange): string | null => {
  if (event === 'log.entryAdded') {
    const isFault = params.level === 'error' || (params.level === 'warn' && params.type === 'console')
    return isFault ? String(params.text) : null
  }
  const { url = '', method = '' } = params.request ?? {}
  if (event === 'network.beforeRequestSent')
    return url.startsWith(`${origin}/`) || /^(?:data|blob|about):/.test(url) ? null : `foreign: ${url}`
  return (params.response?.status ?? 0) >= 400 ? `${params.response?.status} ${method} ${url}` : null
}

/**
 * Firefox with the console of a whole platform. Each member has one page for all tests: a window costs a second of
 * processor time. Other pages are closed after each test.
 * @param before script that runs in each page before its own scripts
 */
export const openFirefoxConsole = async (origin: string, before: string) => {
  let faults: string[] = []
  // Firefox reports requests of a page that was left while its worker answered or its scripts came, and some requests that
  // the page itself gives up, such as a search after another letter.
  const always = [
    /A ServiceWorker intercepted the request and encountered an unexpected error/,
    /^AbortError: The operation was aborted\. $/,
    // A missing file is a failed request, too.
    /^TypeError: error loading dynamically imported module/,
    /^The connection to ws:\S+\/console\/live\S* was interrupted while the page was loading/,
    /^Firefox can’t establish a connection to the server at ws:\S+\/console\/live/,
  ]
  let allowed: readonly RegExp[] = always
  const firefox = await openFirefox({ after }, {}, (event, params) => {
    const fault = faultOf(origin, event, params)
    if (fault) faults.push(fault)
  })
  await firefox.send('session.subscribe', {
    events: ['log.entryAdded', 'network.beforeRequestSent', 'network.responseCompleted'],
  })

  let persons: string[] = []
  afterEach(async () => {
    for (const userContext of persons) await firefox.send('browser.removeUserContext', { userContext })
    const found = faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault)))
    persons = []
    faults = []
    allowed = always
    assert.deepEqual(found, [], 'errors, policy violations, failed requests, or requests that leave the server')
  })

  const openAs = async (person: string, path: string, cookie = ''): Promise<Screen> => {
    const [name = '', value = ''] = cookie.split('=')
    if (cookie)
      await firefox.send('storage.setCookie', {
        cookie: {
          ...{ name, value: { type: 'string', value }, domain: new URL(origin).hostname, path: '/' },
          ...{ httpOnly: true, sameSite: 'strict' },
        },
        partition: { type: 'storageKey', userContext: person },
      })
    const page = await firefox.open('about:blank', { person, before: `() => { ${watchPolicy}\n${before} }` })
    const screen = screenOf(page)
    await screen.resize(1440, 900)
    await screen.goto(origin + path)
    return screen
  }

  /** Opens a page without a session, in a browser of its own. @param path after the origin */
  const open = async (path: string): Promise<Screen> => {
    const person = await firefox.person()
    persons.push(person)
    return openAs(person, path)
  }

  const pages = new Map<string, Screen>()
  /** Opens a page in the browser of a member. @param path after `/console/ACC…` */
  const signIn = async ({ cookie, account }: Pick<Member, 'cookie' | 'account'>, path: string): Promise<Screen> => {
    const address = `/console/${account}${path}`
    const page = pages.get(cookie)
    if (page) await page.goto(origin + address)
    else pages.set(cookie, await openAs(await firefox.person(), address, cookie))
    return pages.get(cookie) ?? assert.fail()
  }

  return {
    open,
    signIn,
    allow: (...patterns: RegExp[]) => {
      allowed = [...allowed, ...patterns]
    },
  }
}
