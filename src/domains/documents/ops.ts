import { Readable } from 'node:stream'
import type { Db, Tx } from '../../platform/db/sql.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import { documentPartBytes } from './limits.ts'
import * as store from './store.ts'

export type Document = store.DocumentRow

const sealPlaceOf = (account: string, id: string, part: number) => `document ${account} ${id} ${part}`

/** Stores a file, encrypted. */
export const storeFile = async (
  tx: Tx,
  seal: Seal,
  document: Omit<Document, 'created_at' | 'size'>,
  file: Buffer,
): Promise<Document> => {
  const { account_id: account, id } = document
  const stored = await store.add(tx, { ...document, size: file.length })
  for (let part = 0; part * documentPartBytes < file.length; part++) {
    const bytes = file.subarray(part * documentPartBytes, (part + 1) * documentPartBytes)
    await store.addPart(tx, account, id, part, seal.closeBytes(bytes, sealPlaceOf(account, id, part)))
  }
  return stored
}

/** Returns the content of a file, decrypted part by part as it is read. */
export const readFile = (db: Db, seal: Seal, { account_id: account, id }: Document): Readable =>
  Readable.from(
    (async function* () {
      for (let part = 0; ; part++) {
        const row = await store.part(db, account, id, part)
        if (!row) return
        yield seal.openBytes(row.sealed, sealPlaceOf(account, id, part))
      }
    })(),
    { objectMode: false },
  )

/** Returns the listed documents that belong to the account, locked against deletion until the transaction ends. */
export const lockDocuments = store.lockForShare

export const findDocument = store.find

/** Returns the headers of a file download. A browser saves the file and does not guess its type. */
export const fileHeaders = ({ media_type, name, size }: Document): Record<string, string> => ({
  'content-type': media_type,
  'content-length': String(size),
  'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)}`,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
})
