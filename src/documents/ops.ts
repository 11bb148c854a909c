import { Readable } from 'node:stream'
import type { Db, Tx } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import * as store from './store.ts'

export type Document = store.DocumentRow

/** Bytes of a file that are sealed, kept and read at a time: a download of any size holds no more. */
const partSize = 1024 * 1024

const placeOf = (account: string, id: string, part: number) => `document ${account} ${id} ${part}`

/** Keeps a file, sealed. */
export const keepFile = async (
  tx: Tx,
  seal: Seal,
  document: Omit<Document, 'created_at' | 'size'>,
  file: Buffer,
): Promise<Document> => {
  const { account_id: account, id } = document
  const kept = await store.add(tx, { ...document, size: file.length })
  for (let part = 0; part * partSize < file.length; part++) {
    const bytes = file.subarray(part * partSize, (part + 1) * partSize)
    await store.addPart(tx, account, id, part, seal.closeBytes(bytes, placeOf(account, id, part)))
  }
  return kept
}

/** The bytes of a file, opened part by part as they are read. */
export const openFile = (db: Db, seal: Seal, { account_id: account, id }: Document): Readable =>
  Readable.from(
    (async function* () {
      for (let part = 0; ; part++) {
        const row = await store.part(db, account, id, part)
        if (!row) return
        yield seal.openBytes(row.sealed, placeOf(account, id, part))
      }
    })(),
    { objectMode: false },
  )

/** Those of a list that are the account's; they cannot be deleted before the transaction ends. */
export const keepDocuments = store.keep

export const findDocument = store.find

/** The headers of an answer that is a file: a browser keeps it, and guesses nothing. */
export const fileHeaders = ({ media_type, name, size }: Document): Record<string, string> => ({
  'content-type': media_type,
  'content-length': String(size),
  'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)}`,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
})
