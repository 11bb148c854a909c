import type { Changes } from '../db/changes.ts'
import type { Db, Sql, Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'
import { type Kind, kinds, type SettingsOf } from './kinds.ts'
import * as store from './store.ts'

type Fields = Readonly<Record<string, unknown>>

/** A connection with its secrets, as those need it who run it. */
export type Connection<K extends Kind> = {
  id: string
  kind: K
  name: string
  settings: SettingsOf[K]
  revision: string
}

/** Splits settings into what may be shown and what is sealed. What the kind does not know is not kept. */
export const sealed = (kind: Kind, settings: Fields, seal: Seal) => {
  const { settings: schema, secrets } = kinds[kind]
  const isSecret = (name: string) => secrets.some((secret) => secret === name)
  const known = Object.entries(settings).filter(([name]) => Object.hasOwn(schema.properties, name))
  const hidden = Object.fromEntries(known.filter(([name]) => isSecret(name)))
  return {
    settings: Object.fromEntries(known.filter(([name]) => !isSecret(name))),
    sealed_secrets: seal.close(JSON.stringify(hidden)),
  }
}

/** The settings of a stored connection, whole again. */
export const opened = (row: store.ConnectionRow, seal: Seal): Fields => {
  const hidden: Fields = row.sealed_secrets ? JSON.parse(seal.open(row.sealed_secrets)) : {}
  return { ...row.settings, ...hidden }
}

/** Keeps a connection that the platform itself makes; one of that name is brought up to date. Gives its id.
 *  @param shared of a new one: every account may put numbers there */
export const keepConnection = async <K extends Kind>(
  tx: Tx,
  seal: Seal,
  changes: Changes,
  { kind, name, settings, shared = false }: { kind: K; name: string; settings: SettingsOf[K]; shared?: boolean },
): Promise<string> => {
  const known = (await store.all(tx)).find((row) => row.name === name)
  const id = known?.id ?? uuid()
  const content = { name, enabled: known?.enabled ?? true, ...sealed(kind, settings, seal) }
  if (known) await store.change(tx, id, content)
  else await store.create(tx, id, kind, { ...content, shared })
  await changes.announce(tx, 'connections')
  return id
}

/** True for a connection that is known, enabled or not. */
export const hasConnection = async (sql: Sql, id: string): Promise<boolean> => (await store.find(sql, id)) !== null

/** A connection that is to run, with its secrets. */
export const openConnection = async (
  sql: Sql,
  seal: Seal,
  id: string,
): Promise<{ kind: Kind; name: string; settings: Fields } | null> => {
  const row = await store.find(sql, id)
  return row?.enabled ? { kind: row.kind, name: row.name, settings: opened(row, seal) } : null
}

/** The connection of an id or a name among those of some kinds; without either the first one that is enabled.
 *  @param account sees only shared connections and its own; null for the operator */
export const findConnection = async <K extends Kind>(
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

/** Whether a connection is assigned to this account alone. */
export const isOnlyUser = (sql: Sql, connection: string, account: string): Promise<boolean> =>
  store.isOnlyUser(sql, connection, account)

/** The settings of a connection without its secrets; null when it is none of those kinds. */
export const plainSettings = async <K extends Kind>(
  sql: Sql,
  kinds: readonly K[],
  id: string,
): Promise<{ kind: K; settings: Fields } | null> => {
  const row = await store.find(sql, id)
  const kind = kinds.find((one) => one === row?.kind)
  return row && kind ? { kind, settings: row.settings } : null
}

/** The connections of some kinds that are to run. */
export const enabledConnections = async <K extends Kind>(
  db: Db,
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
      // They were checked against the schema of the kind when they came in.
      settings: opened(row, seal) as SettingsOf[K],
      revision: row.updated_at.toISOString(),
    }))
}
