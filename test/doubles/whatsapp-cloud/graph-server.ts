import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { errorStack } from '../../../src/platform/lib/error-text.ts'
import { errorOf, type Fields, fieldsOf, Graph, type Reply, textOf } from './graph.ts'
import { type FaultKind, Faults, faultKinds } from './graph-faults.ts'
import { People, type Person } from './people.ts'
import { WebhookSender } from './webhook-sender.ts'

/** Importing the module by name would also load Node's browser-compatible parts: 12 MB. */
const { createServer } = process.getBuiltinModule('node:http')

export type GraphOptions = { readonly account: string; readonly token: string; readonly secret: string }

const maxBodyBytes = 110 * 1024 * 1024
const maxLogEntries = 10_000

const read = async (request: IncomingMessage): Promise<Buffer> => {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request) {
    size += piece.length
    if (size > maxBodyBytes) throw new Error('the body is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const digits = (value: unknown) => textOf(value).replace(/\D/g, '')
const fine = (body: object = {}): Reply => ({ status: 200, body })
const bad = (error: string): Reply => ({ status: 400, body: { error } })

/**
 * The Graph API for numbers of a WhatsApp business account, with simulated people, the 24-hour rule and signed
 * webhooks. Its control interface is `/control`:
 * POST phones {number, name}, people {number, name, hidden, open}, write, read, call, callback {url, verify_token},
 * faults; GET people/{number}, profile/{number}, log, told.
 */
export const graphServer = ({ account, token, secret }: GraphOptions): Server => {
  const faults = new Faults()
  const webhooks = new WebhookSender(secret, account, faults)
  const people = new People(webhooks)
  let base = ''
  const graph = new Graph({ account, faults, people, base: () => base })
  const log: { method: string; path: string; body: string }[] = []

  const person = (body: Fields): Person => people.find(digits(body.number)) ?? people.add(digits(body.number))

  const contentOf = async (body: Fields): Promise<object> => {
    if (body.content !== undefined) return fieldsOf(body.content)
    if (body.url === undefined) return { type: 'text', text: { body: textOf(body.text) } }
    const answer = await fetch(textOf(body.url))
    const type = answer.headers.get('content-type') ?? 'application/octet-stream'
    const id = graph.storeMedia({ bytes: Buffer.from(await answer.arrayBuffer()), type, name: 'file' })
    const kind = ['image', 'video', 'audio'].find((one) => type.startsWith(`${one}/`)) ?? 'document'
    const caption = textOf(body.text)
    return { type: kind, [kind]: { id, mime_type: type, sha256: 'of the file', ...(caption ? { caption } : {}) } }
  }

  const control = async (method: string, path: string, body: Fields): Promise<Reply> => {
    const [what = '', which = ''] = path.split('/')
    const phone = graph.phone(digits(body.to))
    if (method === 'GET' && what === 'people') return fine({ received: people.find(which)?.received ?? [] })
    if (method === 'GET' && what === 'profile') return fine(graph.profiles.get(graph.phone(which)?.id ?? '') ?? {})
    if (method === 'GET' && what === 'log') return fine({ requests: log })
    if (method === 'GET' && what === 'told') return fine({ bodies: webhooks.delivered })
    switch (what) {
      case 'phones':
        return fine(graph.addPhone(digits(body.number), textOf(body.name)))
      case 'callback': {
        const fault = await webhooks.subscribe({ url: textOf(body.url), verifyToken: textOf(body.verify_token) })
        return fault === null ? fine() : bad(fault)
      }
      case 'people': {
        const one = people.add(digits(body.number), {
          isHidden: body.hidden === true,
          ...(body.name ? { name: textOf(body.name) } : {}),
        })
        // As if they had written a minute ago.
        if (body.open === true) for (const { id } of graph.phones) one.wrote.set(id, Date.now() - 60_000)
        return fine({ user: one.user })
      }
      case 'faults': {
        if (method === 'DELETE') faults.clear()
        const kind = faultKinds.find((known): known is FaultKind => known === body.kind)
        if (!kind) return method === 'DELETE' ? fine() : bad(`kind: one of ${faultKinds.join(', ')}`)
        const { times = 1, code = 1, status = 400, seconds } = body
        faults.add({
          kind,
          times: Number(times),
          code: Number(code),
          status: Number(status),
          ...(seconds === undefined ? {} : { seconds: Number(seconds) }),
          ...(body.method === undefined ? {} : { method: textOf(body.method) }),
          ...(body.path === undefined ? {} : { path: textOf(body.path) }),
        })
        return fine()
      }
    }
    if (!phone) return bad('to: not a number of the account')
    if (what === 'write')
      return fine({ id: await people.write(person(body), phone, await contentOf(body), textOf(body.id) || undefined) })
    if (what === 'read') await people.read(person(body), phone)
    else if (what === 'call') await people.call(person(body), phone)
    else return bad('no such thing')
    return fine()
  }

  const supply = async (request: IncomingMessage, url: URL, raw: Buffer): Promise<Reply> => {
    const { method = 'GET', headers } = request
    const type = headers['content-type'] ?? ''
    if (headers.authorization !== `Bearer ${token}`) return errorOf(401, 190, 'the token is invalid')
    if (url.pathname.startsWith('/files/')) {
      const stored = graph.media.get(url.pathname.slice('/files/'.length))
      return stored ? { status: 200, body: stored.bytes, type: stored.type } : errorOf(404, 100)
    }
    const path = decodeURIComponent(url.pathname.replace(/^\/v\d+\.\d+\//, ''))
    if (log.length < maxLogEntries)
      log.push({
        method,
        path: path + url.search,
        body: type.startsWith('application/json') ? raw.toString('utf8') : '',
      })
    const fault = faults.take('error', method, path)
    if (fault) return errorOf(fault.status, fault.code, 'on demand', fault.seconds)
    const form = type.startsWith('multipart/')
      ? await new Response(new Uint8Array(raw), { headers: { 'content-type': type } }).formData()
      : null
    return graph.respond(method, path, url.searchParams, raw, form, type)
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET' } = request
    base = `http://${request.headers.host}`
    const url = new URL(request.url ?? '/', base)
    const raw = await read(request)
    const isControl = url.pathname.startsWith('/control/')
    const isLost = !isControl && faults.take('lose-answer', method, url.pathname) !== null
    const { status, body, type, seconds } = isControl
      ? await control(
          method,
          url.pathname.slice('/control/'.length),
          fieldsOf(raw.length > 0 ? JSON.parse(raw.toString('utf8')) : {}),
        )
      : await supply(request, url, raw)
    if (isLost) return void response.destroy()
    response.writeHead(status, {
      'content-type': type ?? 'application/json',
      ...(seconds === undefined ? {} : { 'retry-after': String(seconds) }),
    })
    response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body))
  }

  return createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      process.stderr.write(`${errorStack(error)}\n`)
      response.destroy()
    })
  })
}
