import { makeBatcher } from '../db/batch.ts'
import type { Db, Tx } from '../db/sql.ts'
import * as optout from './optout.ts'
import * as pieces from './pieces.ts'
import * as states from './states.ts'
import type { Unwritten } from './unwritten.ts'

/** What is written down while a text is being submitted; many texts to a statement. */
export type Steps = {
  /** `gone` for a text that is not to be sent any more. */
  begin(text: pieces.Beginning): Promise<pieces.Begun | 'gone'>
  put(piece: pieces.Piece): Promise<void>
  doubt(piece: pieces.Place): Promise<void>
  withdraw(piece: pieces.Place): Promise<void>
  attempt(attempt: pieces.Attempt): Promise<void>
  isOptedOut(pair: optout.Pair): Promise<boolean>
}

/** For statements that may be planned while their tables are small. */
const byIndex = <T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.begin(async (tx) => {
    await states.byIndex(tx)
    return await work(tx)
  })

export const makeSteps = (db: Db, unwritten: Unwritten, honoursOptOut: boolean): Steps => {
  const begin = makeBatcher<pieces.Beginning, pieces.Begun | 'gone'>(async (texts) => {
    const begun = new Map((await byIndex(db, (tx) => pieces.begin(tx, texts))).map((row) => [row.id, row]))
    return texts.map(({ id }) => begun.get(id) ?? 'gone')
  })
  const put = makeBatcher<pieces.Piece, true>(async (given) => {
    await byIndex(db, (tx) => pieces.put(tx, given))
    for (const { message, part } of given) unwritten.clear([message], part)
    return given.map(() => true)
  })
  const attempt = makeBatcher<pieces.Attempt, true>(async (given) => {
    await byIndex(db, (tx) => pieces.attempt(tx, given))
    return given.map(() => true)
  })
  return {
    begin: begin.add,
    put: async (piece) => void (await put.add(piece)),
    doubt: async (piece) => void (await pieces.doubt(db, piece)),
    withdraw: async (piece) => void (await pieces.withdraw(db, piece)),
    attempt: async (one) => void (await attempt.add(one)),
    isOptedOut: async (pair) => honoursOptOut && (await optout.has(db, pair)),
  }
}
