import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inheritedEnvironment, preloadFlag } from './child.ts'
import { atEnd } from './endings.ts'
import { memoryFolder, temporaryFolder, variables } from './servers.ts'

/** The whole program as a process of its own, on its own home, as an operator starts it. */
export type Platform = {
  readonly home: string
  readonly url: string
  readonly pid: number
  readonly smppPort: number
  readonly sipPort: number
  /** The SIP port to which trunks send calls. */
  readonly voicePort: number
  /** Everything that the process has printed. */
  output(): string
  /** Makes a request with the account's key, or with the operator's for /operator. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Sends a signal and waits for the process to exit. */
  end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
export type Answer = { status: number; body: any }

export const apiKey = 'an api key for these tests'
export const operatorKey = 'an operator key for these tests'

const ours = join(import.meta.dirname, '..')

const isReady = (child: ChildProcess, output: () => string): Promise<void> =>
  new Promise((resolve, reject) => {
    child.stdout?.on('data', () => output().includes('is ready') && resolve())
    child.on('exit', (code, signal) => reject(new Error(`ended at its start (${signal ?? code}): ${output()}`)))
  })

/** Copies the home that the run prepared, if it did. */
const prepared = (home: string): string => {
  const model = process.env[variables.home]
  if (model) execFileSync('cp', ['-a', `${model}/.`, home])
  return home
}

/**
 * A home after its first start, in memory if there is room. A first start creates a database, its schema and the
 * catalogue: 2 s of CPU time, of which a copy takes 0.2.
 */
export const startedHome = (): string => prepared(memoryFolder())

/** The same on a disk, for a platform that a test kills to prove what was durable. */
export const homeOnDisk = (): string => prepared(temporaryFolder())

const sharedStores = new Map<string, string>()

/** The media store that the platforms on one database share, whatever proxies their addresses lead through. */
const sharedStoreOf = (databaseUrl: string): string => {
  const [, database = databaseUrl] = /\/([^/?]+)(?:\?|$)/.exec(databaseUrl) ?? []
  const store = sharedStores.get(database) ?? temporaryFolder()
  sharedStores.set(database, store)
  return store
}

/**
 * @param home of an earlier start, to continue with it; an empty one for a first start. Default: a prepared one
 * @param tree of another version. Default: this one
 */
export const startPlatform = async (
  home = startedHome(),
  env: Record<string, string> = {},
  tree = ours,
): Promise<Platform> => {
  const readyFile = join(home, 'ready.json')
  rmSync(readyFile, { force: true })
  const preload = tree === ours ? preloadFlag : `--import=${join(tree, 'scripts/preload.mjs')}`
  const child = spawn(process.execPath, [preload, join(tree, 'src/main.ts')], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...inheritedEnvironment,
      TRUNKLINE_HOME: home,
      TRUNKLINE_PORT: '0',
      TRUNKLINE_SIP_PORT: '0',
      TRUNKLINE_API_KEY: apiKey,
      TRUNKLINE_OPERATOR_KEY: operatorKey,
      TRUNKLINE_READY_FILE: readyFile,
      ...(env.DATABASE_URL === undefined ? {} : { TRUNKLINE_MEDIA_STORE: sharedStoreOf(env.DATABASE_URL) }),
      ...env,
    },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  }
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on('exit', (code, signal) => resolve(signal ?? code))
  })
  const end: Platform['end'] = (signal = 'SIGTERM') => {
    child.kill(signal)
    return ended
  }
  // A database of the test is dropped only after its platforms have ended.
  if (env.DATABASE_URL !== undefined) atEnd(() => end('SIGKILL'))
  await isReady(child, () => text)
  const { url, pid, smpp_port, sip_port, voice_port } = JSON.parse(readFileSync(readyFile, 'utf8'))
  return {
    home,
    url,
    pid,
    smppPort: smpp_port,
    sipPort: sip_port,
    voicePort: voice_port,
    output: () => text,
    call: async (method, path, body, headers = {}) => {
      const key: Record<string, string> = path.startsWith('/operator')
        ? { 'x-operator-key': operatorKey }
        : { 'x-user-api-key': apiKey }
      const answer = await fetch(url + path, {
        method,
        headers: { ...key, ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      return { status: answer.status, body: await answer.json() }
    },
    end,
  }
}

/** Puts numbers on sale from the operator's own inventory. */
export const stockNumbers = async ({ url }: Pick<Platform, 'url'>, csv: string): Promise<void> => {
  const headers = { 'x-operator-key': operatorKey, 'content-type': 'text/csv' }
  const answer = await fetch(`${url}/operator/inventory/import`, { method: 'POST', headers, body: csv })
  if (!answer.ok) throw new Error(await answer.text())
}

/** Buys a British mobile number. */
export const buyNumber = async ({ call }: Pick<Platform, 'call'>): Promise<{ number: string; channel: string }> => {
  const groups = await call('GET', '/open/numbers/groups?country=GB&did_type=mobile')
  const bought = await call('POST', '/open/numbers/purchase', { group_id: groups.body.data.groups[0].id })
  const [number] = bought.body.purchased
  const { channels } = (await call('GET', '/open/sms/channels')).body
  const channel = channels.find((one: { phone_number: string }) => one.phone_number === number)
  return { number, channel: channel.uuid }
}

/**
 * Waits for a condition.
 * @param everyMs between two looks; longer where a look is dear, such as a question to a browser. Default: 25 ms, 50 after
 * ten looks, and 100 after forty, as each look takes processor time of what is waited for
 * @throws Error when the condition stays false until the timeout
 */
export const until = async <T>(
  look: () => Promise<T | null | undefined | false>,
  seconds = 60,
  everyMs?: number,
): Promise<T> => {
  const end = Date.now() + seconds * 1000
  for (let looks = 1; ; looks++) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`not true within ${seconds} s: ${String(look).slice(0, 300)}`)
    await new Promise((resolve) => setTimeout(resolve, everyMs ?? (looks > 40 ? 100 : looks > 10 ? 50 : 25)))
  }
}
