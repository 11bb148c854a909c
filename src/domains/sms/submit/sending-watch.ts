import { makeBatcher } from '../../../platform/db/batcher.ts'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import { admissions, haltedSendings, type SendingState, type SentMessage } from '../sendings/store.ts'
import type { Status } from '../store.ts'

/** State of a sending, as one of its messages needs it. */
export type Admission = {
  readonly state: SendingState
  /** Status of the message; null if the id is not that of a message. */
  readonly status: Status | null
  /** For `follow`. */
  readonly version: number
}

/** Notices when sendings are paused or canceled while this process submits their messages. */
export type SendingWatch = {
  /** Reads the state of a sending before its messages are submitted. */
  admit(message: SentMessage): Promise<Admission>
  /**
   * Calls `halt` whenever the sending is paused or canceled, until the returned function is called.
   * @param version of the admission: a change since then counts too
   */
  follow(account: string, sending: string, version: number, halt: () => void): () => void
}

/** Milliseconds after which a failed check is repeated. */
const checkAgainMs = 1_000

export const makeSendingWatch = ({
  db,
  changes,
}: {
  readonly db: Db
  readonly changes: Pick<InvalidationBus, 'on'>
}): SendingWatch => {
  const followed = new Map<string, { readonly account: string; readonly halts: Set<() => void> }>()
  let version = 0

  const reads = makeBatcher<SentMessage, Pick<Admission, 'state' | 'status'>>((messages) => admissions(db, messages))

  const check = async (): Promise<void> => {
    const all = [...followed].map(([id, { account }]) => ({ id, account }))
    if (all.length === 0) return
    const halted = await haltedSendings(db, all)
    for (const id of halted) for (const halt of followed.get(id)?.halts ?? []) halt()
  }
  const checkUntilRead = (): void =>
    void check().catch(() => {
      setTimeout(checkUntilRead, checkAgainMs).unref()
    })

  changes.on('sendings', () => {
    version++
    checkUntilRead()
  })

  return {
    admit: async (message) => {
      const before = version
      return { ...(await reads.add(message)), version: before }
    },
    follow: (account, sending, since, halt) => {
      const entry = followed.get(sending) ?? { account, halts: new Set<() => void>() }
      followed.set(sending, entry)
      entry.halts.add(halt)
      if (since !== version) checkUntilRead()
      return () => {
        entry.halts.delete(halt)
        if (entry.halts.size === 0 && followed.get(sending) === entry) followed.delete(sending)
      }
    },
  }
}
