import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after } from 'node:test'
import { inheritedEnvironment, preloadFlag } from '../child.ts'
import type { FaultKind } from '../doubles/didww/supplier-faults.ts'

const main = join(import.meta.dirname, '../doubles/didww/main.ts')

export const supplierKey = 'key of the simulated supplier'
export const supplierSecret = 'secret of the simulated callbacks'

export type RecordedRequest = { method: string; path: string; version: string; at: number; body: unknown }

/** The simulated supplier, as a process of its own. */
export type Supplier = {
  /** The base URL of its API. */
  readonly url: string
  readonly settings: { api_key: string; callback_secret: string; base_url: string; requests_per_second: number }
  fault(kind: FaultKind, options?: { method?: string; path?: string; times?: number; ms?: number }): Promise<void>
  /** Ends every fault. */
  clearFaults(): Promise<void>
  add(resources: readonly object[]): Promise<void>
  /** The requests received so far. */
  log(): Promise<RecordedRequest[]>
  stop(): Promise<void>
}

export const startSupplier = async (...options: string[]): Promise<Supplier> => {
  const child = spawn(process.execPath, [preloadFlag, main, ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...inheritedEnvironment, SIMULATOR_KEY: supplierKey, SIMULATOR_SECRET: supplierSecret },
  })
  const ended = once(child, 'exit')
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  const { port } = JSON.parse(String(value))
  const root = `http://127.0.0.1:${port}`
  const control = async (method: string, path: string, body?: object): Promise<{ requests: RecordedRequest[] }> => {
    const answer = await fetch(`${root}/control/${path}`, { method, ...(body ? { body: JSON.stringify(body) } : {}) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    // The simulator of this repository prints this form.
    return (await answer.json()) as { requests: RecordedRequest[] }
  }
  const stop = async () => {
    child.kill()
    await ended
  }
  after(stop)
  const url = `${root}/v3`
  return {
    url,
    settings: { api_key: supplierKey, callback_secret: supplierSecret, base_url: url, requests_per_second: 19 },
    fault: async (kind, options = {}) => void (await control('POST', 'faults', { kind, ...options })),
    clearFaults: async () => void (await control('DELETE', 'faults')),
    add: async (resources) => void (await control('POST', 'resources', { resources })),
    log: async () => (await control('GET', 'log')).requests,
    stop,
  }
}
