import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { errorStack } from '../../../src/platform/lib/error-text.ts'
import { type ApiResponse, respond } from './api.ts'
import { ApiError, Ordering } from './ordering.ts'
import { type Fields, fieldsOf, readResource, Store } from './resources.ts'
import { seedStore } from './seed-data.ts'
import { type FaultKind, Faults, faultKinds } from './supplier-faults.ts'

/** Importing the module by name would also load Node's browser-compatible parts: 12 MB. */
const { createServer } = process.getBuiltinModule('node:http')

export type SupplierOptions = { key: string; secret: string; completeMs: number; isEmpty: boolean }

const media = 'application/vnd.api+json'
const maxBody = 4 * 1024 * 1024
/** Maximum requests of one key per second. */
const maxRequestsPerSecond = 20
const maxLogEntries = 100_000

const errorOf = (status: number, detail: string, code: string): ApiResponse => ({
  status,
  body: { errors: [{ title: detail, detail, code, status: String(status) }] },
})

const read = async (request: IncomingMessage): Promise<unknown> => {
  let text = ''
  request.setEncoding('utf8')
  for await (const piece of request) {
    text += String(piece)
    if (text.length > maxBody) throw new ApiError(413, 'The body is too long', '413')
  }
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError(400, 'The body is not JSON', '100')
  }
}

/**
 * A supplier of numbers with DIDWW's API 3 below `/v3` and faults on demand. Its control interface: POST and DELETE
 * `/control/faults`; GET `/control/log` (every request); POST `/control/resources` (adds resources in document form).
 */
export const supplierServer = ({ key, secret, completeMs, isEmpty }: SupplierOptions): Server => {
  const store = new Store()
  const faults = new Faults()
  const trade = new Ordering({ store, faults, secret, completeMs })
  if (!isEmpty) seedStore(store)
  const log: { method: string; path: string; version: string; at: number; body: unknown }[] = []
  let recent: number[] = []

  const isTooFast = (): boolean => {
    const now = Date.now()
    recent = recent.filter((at) => now - at < 1000)
    recent.push(now)
    return recent.length > maxRequestsPerSecond
  }

  const control = (method: string, path: string, body: unknown): ApiResponse => {
    const fields = fieldsOf(body)
    if (path === '/control/log') return { status: 200, body: { requests: log } }
    if (path === '/control/resources') {
      for (const one of Array.isArray(fields.resources) ? fields.resources : []) {
        const resource = readResource(one)
        if (resource) store.put(resource)
      }
      return { status: 200, body: {} }
    }
    if (path !== '/control/faults') return errorOf(404, 'Not found', '404')
    if (method === 'DELETE') faults.clear()
    const kind = faultKinds.find((known): known is FaultKind => known === fields.kind)
    if (method === 'POST' && !kind) return errorOf(400, `kind: one of ${faultKinds.join(', ')}`, '100')
    if (method === 'POST' && kind)
      faults.add({
        kind,
        times: Number(fields.times ?? 1),
        ms: Number(fields.ms ?? 1000),
        ...(typeof fields.method === 'string' ? { method: fields.method } : {}),
        ...(typeof fields.path === 'string' ? { path: fields.path } : {}),
      })
    return { status: 200, body: { faults: faults.list } }
  }

  const supply = (request: IncomingMessage, method: string, url: URL, body: unknown): ApiResponse => {
    const path = url.pathname.slice('/v3'.length)
    if (request.headers['api-key'] !== key) return errorOf(401, 'Unauthorized', '401')
    if (faults.take(['number-gone'], method, path))
      for (const one of trade.free()) {
        const { data } = fieldsOf(body)
        if (JSON.stringify(data ?? null).includes(one.id)) store.remove(one)
      }
    const base = `http://${request.headers.host}/v3`
    return respond({ store, trade, base }, method, path, url.searchParams, body)
  }

  const send = (response: ServerResponse, { status, body }: ApiResponse, headers: Fields = {}): void => {
    response.writeHead(status, { 'content-type': media, ...headers } as Record<string, string>)
    response.end(body === null ? undefined : JSON.stringify(body))
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET' } = request
    const url = new URL(request.url ?? '/', 'http://supplier')
    const body = await read(request)
    if (url.pathname.startsWith('/control/')) return send(response, control(method, url.pathname, body))
    if (!url.pathname.startsWith('/v3/')) return send(response, errorOf(404, 'Not found', '404'))
    const path = url.pathname.slice('/v3'.length)
    const version = String(request.headers['x-didww-api-version'] ?? '')
    if (log.length < maxLogEntries) log.push({ method, path: path + url.search, version, at: Date.now(), body })
    if (faults.take(['lose-request'], method, path)) return void response.destroy()
    const slow = faults.take(['slow'], method, path)
    if (slow) await pause(slow.ms)
    if (isTooFast() || faults.take(['too-many'], method, path))
      return send(response, errorOf(429, 'Too many requests', '429'), { 'retry-after': '1' })
    if (faults.take(['broken'], method, path)) return send(response, { status: 500, body: { error: 'broken' } })
    const reply = supply(request, method, url, body)
    if (faults.take(['lose-answer'], method, path)) return void response.destroy()
    if (faults.take(['garbled'], method, path)) return send(response, { status: reply.status, body: { said: 'well' } })
    send(response, reply)
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (error instanceof ApiError) return send(response, errorOf(error.status, error.message, error.code))
      process.stderr.write(`${errorStack(error)}\n`)
      response.destroy()
    })
  })
  server.on('close', () => trade.close())
  return server
}
