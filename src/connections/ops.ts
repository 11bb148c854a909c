import type { Static } from 'typebox'
import type { Changes } from '../db/changes.ts'
import type { Db, Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'
import type { createConnection } from './contract.ts'
import * as store from './store.ts'

export type Settings = Static<(typeof createConnection)['body']>['settings']

/** A connection with its secrets, as those need it who run it. */
export type Connection = { id: string; kind: store.Kind; name: string; settings: Settings; revision: string }

/** Splits settings into what may be shown and what is sealed. */
export const sealed = (settings: Settings, seal: Seal) => {
  const { password, ...open } = settings
  return { settings: open, sealed_secrets: seal.close(JSON.stringify({ password })) }
}

/** The settings of a stored connection, whole again. They were checked by the contract when they came in. */
export const opened = (row: store.ConnectionRow, seal: Seal): Settings => {
  const hidden: unknown = row.sealed_secrets ? JSON.parse(seal.open(row.sealed_secrets)) : {}
  return Object.assign({ host: '', port: 0, system_id: '', password: '' }, row.settings, hidden)
}

/** Keeps a connection that the platform itself makes; one of that name is brought up to date. Gives its id. */
export const keepConnection = async (
  tx: Tx,
  seal: Seal,
  changes: Changes,
  name: string,
  settings: Settings,
): Promise<string> => {
  const known = (await store.all(tx)).find((row) => row.name === name)
  const id = known?.id ?? uuid()
  const content = { name, enabled: known?.enabled ?? true, ...sealed(settings, seal) }
  if (known) await store.change(tx, id, content)
  else await store.create(tx, id, 'smpp', content)
  await changes.announce(tx, 'connections')
  return id
}

/** The connections that are to run. */
export const enabledConnections = async (db: Db, seal: Seal): Promise<Connection[]> => {
  const rows = await store.all(db)
  return rows
    .filter(({ enabled }) => enabled)
    .map((row) => ({
      id: row.id,
      kind: row.kind,
      name: row.name,
      settings: opened(row, seal),
      revision: row.updated_at.toISOString(),
    }))
}
