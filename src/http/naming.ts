import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'

/**
 * The second spelling of `msgapp` (TRUNKLINE_MSGAPP_NAME). One translation at the edge: requests come in as `msgapp`,
 * answers go out as the request spelled it; a request that spells neither gets fields and values in both. No domain
 * code knows of it.
 */
export type Naming = {
  /** The path in the spelling that routes know; absent when there is no second one. */
  inbound?(request: { url?: string | undefined }): string
  install(app: FastifyInstance): void
}

type Spelling = 'own' | 'alias' | 'both'

/** Fields whose values are names of ours; everything else that is written is a person's own text. */
const named = new Set(['event', 'event_name', 'features', 'error_message', 'detail'])

/** Lists of names that a request in neither spelling gets as they are documented. */
const documented = new Set(['features', 'error_message', 'detail'])

/** Renames keys, and the values of the fields that hold names, at any depth. */
const renamed = (value: unknown, from: RegExp, to: string, isName = false): unknown => {
  if (Array.isArray(value)) return value.map((item) => renamed(item, from, to, isName))
  if (typeof value === 'string') return isName ? value.replace(from, to) : value
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replace(from, to), renamed(inner, from, to, named.has(key))]),
  )
}

/** The value with every key, and every name in a list of names, in both spellings. */
const doubled = (value: unknown, from: RegExp, to: string, isName = false): unknown => {
  if (Array.isArray(value)) {
    const both = (item: unknown) => (isName ? [item, renamed(item, from, to, true)] : [doubled(item, from, to)])
    return [...new Set(value.flatMap(both))]
  }
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const isName = named.has(key) && !documented.has(key)
      const kept: [string, unknown] = [key, doubled(inner, from, to, isName)]
      const other = key.replace(from, to)
      return other === key ? [kept] : [kept, [other, renamed(inner, from, to, named.has(key))]]
    }),
  )
}

/** False for no body, and for files. */
const isText = (body: unknown): boolean =>
  body !== undefined && body !== null && !Buffer.isBuffer(body) && !(body instanceof Readable)

const word = (name: string, flags: string) => new RegExp(`(?<![a-z0-9])${name}(?![a-z0-9])`, flags)

/** A value in the second spelling of `msgapp`, as somebody gets it who asked in that one. */
export const inSpelling = (value: unknown, alias: string): unknown => renamed(value, word('msgapp', 'g'), alias)

/** @param alias null when there is no second spelling: then nothing is done */
export const makeNaming = (alias: string | null): Naming => {
  if (alias === null) return { install: () => {} }
  const toOwn = word(alias, 'g')
  const toAlias = word('msgapp', 'g')
  const spells = word(alias, '')
  const spellsOwn = word('msgapp', '')

  const spellingOf = (url: string, body: unknown): Spelling => {
    const said = isText(body) ? JSON.stringify(body) : ''
    const text = `${url} ${said}`
    if (spells.test(text)) return 'alias'
    return spellsOwn.test(text) ? 'own' : 'both'
  }

  return {
    inbound: ({ url = '/' }) => url.replace(toOwn, 'msgapp'),
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
        // A request that was refused early was not looked at yet.
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
    spelling: Spelling
  }
}
