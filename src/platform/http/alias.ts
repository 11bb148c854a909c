import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'

/**
 * The second spelling of `msgapp` (TRUNKLINE_MSGAPP_NAME), translated at the edge: no domain code knows it. Requests
 * are rewritten to `msgapp`, and responses use the spelling of the request. A request in neither spelling gets fields
 * and values in both.
 */
export type Alias = {
  /** Returns the path in the spelling of the routes; absent without a second spelling. */
  rewriteUrl?(request: { url?: string | undefined }): string
  install(app: FastifyInstance): void
}

type RequestSpelling = 'own' | 'alias' | 'both'

/** Fields whose values are names of the interface. All other values are user content. */
const nameFields = new Set(['event', 'event_name', 'event_names', 'features', 'error_message', 'detail'])

/** Fields whose values stay as documented for a request in neither spelling. */
const documentedFields = new Set(['features', 'error_message', 'detail'])

/** Fields whose keys are not names of the interface: headers of webhooks, and of their receivers' responses. */
const contentFields = new Set(['headers', 'response_headers'])

/** Renames keys, and values of the fields that hold names, at any depth. */
const renamed = (value: unknown, from: RegExp, to: string, isName = false): unknown => {
  if (Array.isArray(value)) return value.map((item) => renamed(item, from, to, isName))
  if (typeof value === 'string') return isName ? value.replace(from, to) : value
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(from, to),
      contentFields.has(key) ? inner : renamed(inner, from, to, nameFields.has(key)),
    ]),
  )
}

/** Returns the value with every key, and every name in a list of names, in both spellings. */
const doubled = (value: unknown, from: RegExp, to: string, isName = false): unknown => {
  if (Array.isArray(value)) {
    const both = (item: unknown) => (isName ? [item, renamed(item, from, to, true)] : [doubled(item, from, to)])
    return [...new Set(value.flatMap(both))]
  }
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (contentFields.has(key)) return [[key, inner]]
      const isName = nameFields.has(key) && !documentedFields.has(key)
      const original: [string, unknown] = [key, doubled(inner, from, to, isName)]
      const other = key.replace(from, to)
      return other === key ? [original] : [original, [other, renamed(inner, from, to, nameFields.has(key))]]
    }),
  )
}

/** False for no body, and for files. */
const isText = (body: unknown): boolean =>
  body !== undefined && body !== null && !Buffer.isBuffer(body) && !(body instanceof Readable)

/** Query parameters whose values are names of the interface. `name` is one if an event follows. */
const nameParameters = (name: string) =>
  new RegExp(`(?<=[?&])(?:(?:event_name|kinds?|route)=|name=(?=${name}\\.))[^&#]*`, 'g')

const word = (name: string, flags: string) => new RegExp(`(?<![a-z0-9])${name}(?![a-z0-9])`, flags)

/** Returns a value in the second spelling of `msgapp`. */
export const applyAlias = (value: unknown, alias: string): unknown => renamed(value, word('msgapp', 'g'), alias)

/** Returns a value with its fields in both spellings of `msgapp`. */
export const addAlias = (value: unknown, alias: string): unknown => doubled(value, word('msgapp', 'g'), alias)

/** @param alias null for no second spelling: nothing is translated */
export const makeAlias = (alias: string | null): Alias => {
  if (alias === null) return { install: () => {} }
  const toOwn = word(alias, 'g')
  const toAlias = word('msgapp', 'g')
  const spells = word(alias, '')
  const nameValues = nameParameters(alias)
  const spellsOwn = word('msgapp', '')

  const spellingOf = (url: string, body: unknown): RequestSpelling => {
    const said = isText(body) ? JSON.stringify(body) : ''
    const text = `${url} ${said}`
    if (spells.test(text)) return 'alias'
    return spellsOwn.test(text) ? 'own' : 'both'
  }

  return {
    rewriteUrl: ({ url = '/' }) => {
      const [path = '', ...queries] = url.split(/(?=\?)/)
      const query = queries.join('').replace(nameValues, (pair) => pair.replace(toOwn, 'msgapp'))
      return path.replace(toOwn, 'msgapp') + query
    },
    install: (app) => {
      app.decorateRequest('spelling', 'both')
      app.addHook('preValidation', (request, _reply, done) => {
        request.spelling = spellingOf(request.originalUrl, request.body)
        if (request.spelling === 'alias' && isText(request.body)) request.body = renamed(request.body, toOwn, 'msgapp')
        done()
      })
      app.addHook('onSend', (request, reply, payload, done) => {
        const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
        if (typeof payload !== 'string' || !isJson || !payload.includes('msgapp')) return done(null, payload)
        // A request that was refused early has not reached preValidation.
        if (request.spelling === 'both') request.spelling = spellingOf(request.originalUrl, undefined)
        if (request.spelling === 'own' || request.originalUrl.startsWith('/openapi')) return done(null, payload)
        const translate = request.spelling === 'alias' ? renamed : doubled
        reply.removeHeader('content-length')
        done(null, JSON.stringify(translate(JSON.parse(payload), toAlias, alias)))
      })
    },
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    spelling: RequestSpelling
  }
}
