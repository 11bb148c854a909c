import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inheritedEnvironment, preloadFlag } from '../child.ts'
import type { FaultKind } from '../doubles/whatsapp-cloud/graph-faults.ts'
import type { Answer } from '../platform.ts'

const main = join(import.meta.dirname, '../doubles/whatsapp-cloud/main.ts')

export const appSecret = 'secret of the simulated app'
export const verifyToken = 'words that were typed in'
const account = '102030405060708'
const token = 'token of the simulated system user'

type Body = Answer['body']

/** The simulated Graph API, in its own process. */
export type GraphApi = {
  /** Connection settings for it. */
  readonly settings: Record<string, string>
  /** Calls its control interface. */
  control(method: string, path: string, body?: object): Promise<Body>
  fault(kind: FaultKind, options?: object): Promise<void>
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

export const startGraph = async (): Promise<GraphApi> => {
  const child = spawn(process.execPath, [preloadFlag, main], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...inheritedEnvironment,
      SIMULATOR_ACCOUNT: account,
      SIMULATOR_TOKEN: token,
      SIMULATOR_SECRET: appSecret,
    },
  })
  const ended = once(child, 'exit')
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  const { port } = JSON.parse(String(value))
  const root = `http://127.0.0.1:${port}`
  const control: GraphApi['control'] = async (method, path, body) => {
    const answer = await fetch(`${root}/control/${path}`, { method, ...(body ? { body: JSON.stringify(body) } : {}) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  return {
    settings: {
      business_account_id: account,
      access_token: token,
      app_secret: appSecret,
      verify_token: verifyToken,
      base_url: root,
    },
    control,
    fault: async (kind, options = {}) => void (await control('POST', 'faults', { kind, ...options })),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    stop: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}
