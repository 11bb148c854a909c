import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { type ProgramOwner, runProgram } from './counterparts/program.ts'
import { until } from './platform.ts'
import { temporaryFolder } from './servers.ts'

/** A microphone that produces a tone of 1,000 Hz and is permitted; sound that plays without a click. */
const quick: Record<string, boolean | number | string> = {
  // One process for pages, and few pictures a second: tests look at no animation.
  'fission.autostart': false,
  'dom.ipc.processCount': 1,
  'dom.ipc.processPrelaunch.enabled': false,
  'layout.frame_rate': 10,
  'toolkit.telemetry.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'services.settings.server': 'data:,',
  'intl.accept_languages': 'en-GB',
  'ui.prefersReducedMotion': 1,
  'media.navigator.streams.fake': true,
  'media.navigator.audio.fake_frequency': 1_000,
  'media.navigator.permission.disabled': true,
  'media.autoplay.default': 0,
  'app.update.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
}

type Reply = {
  readonly id?: number
  readonly type: 'success' | 'error' | 'event'
  readonly message?: string
  readonly result?: unknown
  readonly method?: string
  readonly params?: Record<string, unknown>
}
/** Sends a command. @throws Error with the message of Firefox */
export type Send = <T>(method: string, params: object) => Promise<T>
type EvaluationResult = {
  readonly type: 'success' | 'exception'
  readonly result?: { readonly value?: unknown }
  readonly exceptionDetails?: { readonly text: string }
}

/** Events of pages and the network: `log.entryAdded`, `network.responseCompleted` … */
type Listener = (event: string, params: Record<string, unknown>) => void

/** Commands of WebDriver BiDi (W3C), which Firefox supports without a driver. */
const openBidi = async (url: string, heard: Listener) => {
  const socket = new WebSocket(`${url}/session`)
  await once(socket, 'open')
  const waiting = new Map<number, (reply: Reply) => void>()
  let lastId = 0
  socket.on('message', (data) => {
    const reply: Reply = JSON.parse(data.toString())
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply)
    else if (reply.method !== undefined) heard(reply.method, reply.params ?? {})
  })
  const send: Send = async <T>(method: string, params: object): Promise<T> => {
    const id = ++lastId
    const replied = new Promise<Reply>((resolve) => waiting.set(id, resolve))
    socket.send(JSON.stringify({ id, method, params }))
    const { type, message, result } = await replied
    waiting.delete(id)
    if (type === 'error') throw new Error(`${method}: ${message}`)
    // The specification gives this shape to the method's answer.
    return result as T
  }
  return { send, close: () => socket.close() }
}

/** A page in Firefox. */
export type FirefoxPage = {
  /** The id of its browsing context, for commands. */
  readonly context: string
  readonly send: Send
  /** Evaluates an expression with a user gesture. @throws Error with the page's exception */
  run<T>(code: string): Promise<T>
  /** Waits until an expression is true. */
  sees(code: string): Promise<unknown>
}

export type FirefoxOptions = {
  /** Script that runs in the page before its own scripts. */
  readonly before?: string
  /** Returned by `person`. Default: the pages of one person share cookies and storage. */
  readonly person?: string
}

/**
 * Debian's Firefox, headless and with its own profile.
 * @param preferences in addition to those for a microphone
 * @param heard receives the events to which a test subscribes
 */
export const openFirefox = async (
  t: ProgramOwner,
  preferences: Record<string, boolean | number | string> = {},
  heard: Listener = () => {},
) => {
  const profile = temporaryFolder()
  const lines = Object.entries({ ...quick, ...preferences }).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`,
  )
  writeFileSync(join(profile, 'user.js'), lines.join(''))
  const options = ['--headless', '--no-remote', '--remote-debugging-port=0', '--profile', profile, 'about:blank']
  const env = { HOME: profile, TZ: 'Europe/London' }
  const program = runProgram(t, ['firefox-esr', ...options], profile, env)
  const url = await until(async () => /BiDi listening on (ws:\S+)/.exec(program.output())?.[1], 60)
  const { send, close } = await openBidi(url, heard)
  t.after(async () => close())
  await send('session.new', { capabilities: {} })

  /** Makes a person with cookies and storage apart from all others. */
  const person = async () => (await send<{ userContext: string }>('browser.createUserContext', {})).userContext

  const open = async (address: string, { before, person }: FirefoxOptions = {}): Promise<FirefoxPage> => {
    // Pages of several people are open at once: a tab behind another one would count as hidden.
    const place = person === undefined ? { type: 'tab' } : { type: 'window', userContext: person }
    const { context } = await send<{ context: string }>('browsingContext.create', place)
    if (before) await send('script.addPreloadScript', { functionDeclaration: before, contexts: [context] })
    await send('browsingContext.navigate', { context, url: address, wait: 'complete' })
    const run = async <T>(code: string): Promise<T> => {
      const target = { target: { context }, awaitPromise: true, userActivation: true }
      const { type, result, exceptionDetails } = await send<EvaluationResult>('script.evaluate', {
        expression: code,
        ...target,
      })
      if (type === 'exception') throw new Error(exceptionDetails?.text)
      // The caller knows the type of its expression: a string, a number or a boolean.
      return result?.value as T
    }
    return { context, send, run, sees: (code) => until(() => run<boolean>(`(async () => Boolean(${code}))()`)) }
  }
  return { open, person, send }
}
