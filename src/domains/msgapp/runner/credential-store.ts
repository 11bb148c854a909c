import type { Db } from '../../../platform/db/sql.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { ChatCredentialStore } from '../../../ports/chat.ts'
import * as store from '../store.ts'

const bindingOf = (channel: string, type: string, id: string) => `msgapp/${channel}/${type}/${id}`

/**
 * Stores credentials of channels for connectors, sealed and bound to their channel and key.
 * @param admit throws once the connection is no longer ours: two owners of one key store would corrupt it
 */
export const makeCredentialStore = (db: Db, seal: Seal, admit: () => void): ChatCredentialStore => ({
  read: async (channel, type, ids) => {
    const rows = await store.findCredentials(db, channel, type, ids)
    return new Map(
      rows.map(({ id, sealed_value }) => [id, seal.openBytes(sealed_value, bindingOf(channel, type, id))] as const),
    )
  },
  write: async (channel, entries) => {
    admit()
    const sealed = entries.map(({ type, id, value }) => ({
      type,
      id,
      sealed: value && seal.closeBytes(value, bindingOf(channel, type, id)),
    }))
    await db.begin((tx) => store.storeCredentials(tx, channel, sealed))
  },
  forget: async (channel, except = []) => {
    admit()
    await store.deleteCredentials(db, channel, except)
  },
})
