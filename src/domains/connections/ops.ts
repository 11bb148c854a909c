import type { FastifyInstance } from 'fastify'
import type { InvalidationBus } from '../../platform/db/invalidation-bus.ts'
import type { Db, Sql, Tx } from '../../platform/db/sql.ts'
import type { ProxyTrust } from '../../platform/http/proxy-trust.ts'
import { makeGenerationCache } from '../../platform/lib/generation-cache.ts'
import { parse, uuid } from '../../platform/lib/id.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import type { Callback, CallbackReply } from '../../ports/callback.ts'
import { type ConnectionKind, kinds, type SettingsOf } from './connection-kinds.ts'
import { maxCachedConnections } from './limits.ts'
import * as store from './store.ts'

type Fields = Readonly<Record<string, unknown>>

/** A connection with decrypted secrets, for the process that runs it. */
export type Connection<K extends ConnectionKind> = {
  id: string
  kind: K
  name: string
  settings: SettingsOf[K]
  revision: string
}

/** Splits settings into public and sealed ones. Settings unknown to the kind are dropped. */
export const sealSettings = (kind: ConnectionKind, settings: Fields, seal: Seal) => {
  const { settings: schema, secrets } = kinds[kind]
  const isSecret = (name: string) => secrets.some((secret) => secret === name)
  const known = Object.entries(settings).filter(([name]) => Object.hasOwn(schema.properties, name))
  const hidden = Object.fromEntries(known.filter(([name]) => isSecret(name)))
  return {
    settings: Object.fromEntries(known.filter(([name]) => !isSecret(name))),
    sealed_secrets: seal.close(JSON.stringify(hidden)),
  }
}

/** Merges the public and decrypted settings of a stored connection. */
export const openSettings = (row: store.ConnectionRow, seal: Seal): Fields => {
  const hidden: Fields = row.sealed_secrets ? JSON.parse(seal.open(row.sealed_secrets)) : {}
  return { ...row.settings, ...hidden }
}

/**
 * Creates a connection of the platform itself, or updates the one of that name. Returns its id.
 * @param shared for a new one: every account may use it
 */
export const upsertConnection = async <K extends ConnectionKind>(
  tx: Tx,
  seal: Seal,
  changes: InvalidationBus,
  { kind, name, settings, shared = false }: { kind: K; name: string; settings: SettingsOf[K]; shared?: boolean },
): Promise<string> => {
  const known = (await store.all(tx)).find((row) => row.name === name)
  const id = known?.id ?? uuid()
  const content = { name, enabled: known?.enabled ?? true, ...sealSettings(kind, settings, seal) }
  if (known) await store.change(tx, id, content)
  else await store.create(tx, id, kind, { ...content, shared })
  await changes.invalidate(tx, 'connections')
  return id
}

/** Returns true if the connection exists, enabled or not. */
export const hasConnection = async (sql: Sql, id: string): Promise<boolean> => (await store.find(sql, id)) !== null

/** Returns an enabled connection with its secrets. */
export const openConnection = async (
  sql: Sql,
  seal: Seal,
  id: string,
): Promise<{ kind: ConnectionKind; name: string; settings: Fields } | null> => {
  const row = await store.find(sql, id)
  return row?.enabled ? { kind: row.kind, name: row.name, settings: openSettings(row, seal) } : null
}

/**
 * Returns the connection with an id or name among those of some kinds; without either the first enabled one.
 * @param account sees only shared connections and its own; null for the operator
 */
export const findConnection = async <K extends ConnectionKind>(
  sql: Sql,
  kinds: readonly K[],
  which: { id: string } | { name: string } | null,
  account: string | null,
): Promise<{ id: string; kind: K } | null> => {
  for (const { id, kind, name, enabled, shared, accounts } of await store.all(sql)) {
    const known = kinds.find((one) => one === kind)
    if (account !== null && !shared && !accounts.includes(account)) continue
    if (known && (which ? ('id' in which ? which.id === id : which.name === name) : enabled)) return { id, kind: known }
  }
  return null
}

/** Returns whether a connection is assigned only to this account. */
export const isOnlyUser = (sql: Sql, connection: string, account: string): Promise<boolean> =>
  store.isOnlyUser(sql, connection, account)

/** Returns the settings of a connection without its secrets; null when it is none of those kinds. */
export const publicSettings = async <K extends ConnectionKind>(
  sql: Sql,
  kinds: readonly K[],
  id: string,
): Promise<{ kind: K; settings: Fields } | null> => {
  const row = await store.find(sql, id)
  const kind = kinds.find((one) => one === row?.kind)
  return row && kind ? { kind, settings: row.settings } : null
}

/** Returns the enabled connections of some kinds. */
export const enabledConnections = async <K extends ConnectionKind>(
  db: Sql,
  seal: Seal,
  ...kinds: readonly K[]
): Promise<Connection<K>[]> => {
  const rows = await store.all(db)
  return rows
    .flatMap((row) => {
      const kind = kinds.find((one) => one === row.kind)
      return row.enabled && kind ? [{ row, kind }] : []
    })
    .map(({ row, kind }) => ({
      id: row.id,
      kind,
      name: row.name,
      // The settings were validated against the schema of the kind on input.
      settings: openSettings(row, seal) as SettingsOf[K],
      revision: row.updated_at.toISOString(),
    }))
}

/** A connection that a callback names. */
export type CallbackTarget = NonNullable<Awaited<ReturnType<typeof openConnection>>> & { readonly id: string }

type CallbackEndpoint = {
  /** Ends in `/:connection`. */
  readonly path: string
  readonly maxBytes: number
  /** Null for a request that no driver answers, and for one that is not genuine: the caller cannot tell them apart. */
  answer(target: CallbackTarget, request: Callback): Promise<CallbackReply | null>
  /** @throws the 401 Problem */
  refuse(): never
}

/** Selects parameters that have a single text value. */
const textParameters = (values: unknown): Record<string, string> => {
  const pairs = Object.entries(values ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  return Object.fromEntries(pairs)
}

type CallbackDeps = {
  readonly db: Db
  readonly changes: InvalidationBus
  readonly seal: Seal
  readonly proxies: ProxyTrust
  readonly publicUrl: () => string
}

/**
 * Adds an endpoint for external systems without a lasting connection. It is not part of the customer API, and so in no
 * contract. Any process may answer.
 */
export const installCallbacks = async (
  app: FastifyInstance,
  { db, changes, seal, proxies, publicUrl }: CallbackDeps,
  { path, maxBytes, answer, refuse }: CallbackEndpoint,
): Promise<void> => {
  const cache = makeGenerationCache<CallbackTarget>(maxCachedConnections)
  changes.on('connections', cache.clear)
  const targetOf = (id: string) =>
    cache.get(id) ??
    cache.load(id, async () => {
      const found = await openConnection(db, seal, id)
      return found && { ...found, id }
    })
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBytes }, (_request, body, done) =>
      done(null, body),
    )
    scope.route<{ Params: { connection: string } }>({
      method: ['GET', 'POST'],
      url: path,
      bodyLimit: maxBytes,
      handler: async ({ method, url, params, query, headers, body, raw: incoming }, reply) => {
        const id = parse('CNX', params.connection)
        const target = id === null ? null : await targetOf(id)
        const raw = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
        const request = {
          method,
          // Signatures are over the address that the system was given, whatever proxies have made of it.
          url: `${publicUrl()}${url}`,
          address: proxies.address(incoming),
          query: textParameters(query),
          headers: textParameters(headers),
          raw,
        }
        const answered = target === null ? null : await answer(target, request)
        if (answered === null || answered.status === 401) return refuse()
        return reply.code(answered.status).type('text/plain; charset=utf-8').send(answered.body)
      },
    })
  })
}
