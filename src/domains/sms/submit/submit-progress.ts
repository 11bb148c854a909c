import { makeBatcher } from '../../../platform/db/batcher.ts'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import * as optout from '../opt-outs/store.ts'
import * as states from '../state-transition-store.ts'
import * as pieces from './parts-store.ts'
import type { PendingCommits } from './pending-commits.ts'

/** Persisted progress of a submit, batched over messages. */
export type SubmitProgress = {
  /** Resolves with `gone` for a message that must not be sent any more. */
  start(text: pieces.SubmitStart): Promise<pieces.StartedMessage | 'gone'>
  recordPart(piece: pieces.MessagePart): Promise<void>
  /** Records a part before its first submit. Resolves with false if another process has recorded it. */
  reservePart(piece: pieces.MessagePart): Promise<boolean>
  markDoubtful(piece: pieces.PartKey): Promise<void>
  deletePart(piece: pieces.PartKey): Promise<void>
  recordAttempt(attempt: pieces.SubmitAttempt): Promise<void>
  isOptedOut(pair: optout.ContactPair): Promise<boolean>
}

/** Runs statements that may be planned while their tables are small. */
const withIndexPlans = <T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.begin(async (tx) => {
    await states.forceIndexPlans(tx)
    return await work(tx)
  })

export const makeSubmitProgress = (db: Db, unwritten: PendingCommits, honoursOptOut: boolean): SubmitProgress => {
  const begin = makeBatcher<pieces.SubmitStart, pieces.StartedMessage | 'gone'>(async (texts) => {
    const begun = new Map((await withIndexPlans(db, (tx) => pieces.startSubmit(tx, texts))).map((row) => [row.id, row]))
    return texts.map(({ id }) => begun.get(id) ?? 'gone')
  })
  const put = makeBatcher<pieces.MessagePart, true>(async (given) => {
    await withIndexPlans(db, (tx) => pieces.recordParts(tx, given))
    for (const { message, part } of given) unwritten.clear([message], part)
    return given.map(() => true)
  })
  const reserve = makeBatcher<pieces.MessagePart, boolean>(async (given) => {
    const rows = await withIndexPlans(db, (tx) => pieces.reserveParts(tx, given))
    const reserved = new Set(rows.map(({ message, part }) => `${message} ${part}`))
    return given.map(({ message, part }) => reserved.has(`${message} ${part}`))
  })
  const attempt = makeBatcher<pieces.SubmitAttempt, true>(async (given) => {
    await withIndexPlans(db, (tx) => pieces.recordAttempts(tx, given))
    return given.map(() => true)
  })
  return {
    start: begin.add,
    recordPart: async (piece) => void (await put.add(piece)),
    reservePart: reserve.add,
    markDoubtful: async (piece) => void (await pieces.markDoubtful(db, piece)),
    deletePart: async (piece) => void (await pieces.deletePart(db, piece)),
    recordAttempt: async (one) => void (await attempt.add(one)),
    isOptedOut: (pair) => optout.isOptedOut(db, pair, honoursOptOut),
  }
}
