import type { ChatVault } from '../connectors/chat-port.ts'
import type { Db } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import * as store from './store.ts'

const placeOf = (channel: string, type: string, id: string) => `msgapp/${channel}/${type}/${id}`

/**
 * What connectors keep for their lines, sealed, and bound to its place.
 * @param admit throws once the connection is no longer ours: two owners of one key store would ruin it
 */
export const makeVault = (db: Db, seal: Seal, admit: () => void): ChatVault => ({
  read: async (channel, type, ids) => {
    const rows = await store.kept(db, channel, type, ids)
    return new Map(
      rows.map(({ id, sealed_value }) => [id, seal.openBytes(sealed_value, placeOf(channel, type, id))] as const),
    )
  },
  write: async (channel, entries) => {
    admit()
    const sealed = entries.map(({ type, id, value }) => ({
      type,
      id,
      sealed: value && seal.closeBytes(value, placeOf(channel, type, id)),
    }))
    await db.begin((tx) => store.keep(tx, channel, sealed))
  },
  forget: async (channel, except = []) => {
    admit()
    await store.forget(db, channel, except)
  },
})
