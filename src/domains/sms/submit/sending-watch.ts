import { makeBatcher } from '../../../platform/db/batcher.ts'
import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Db } from '../../../platform/db/sql.ts'
import { Snooze } from '../../../platform/jobs/job-kind.ts'
import { promoteJobs } from '../../../platform/jobs/ops.ts'
import { pausedCheckSeconds } from '../limits.ts'
import { admissions, type SendingState, type SentMessage, statesOf } from '../sendings/store.ts'
import type { Status } from '../store.ts'
import { batchKind, submitKind } from './message-slots.ts'

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
  /** Reads the state of a sending before its messages are submitted. @throws Snooze while it is paused */
  admit(message: SentMessage): Promise<Admission>
  /**
   * Calls `halt` whenever the sending is paused or canceled, until the returned function is called.
   * @param version of the admission: a change since then counts too
   */
  follow(account: string, sending: string, version: number, halt: () => void): () => void
}

/** Milliseconds after which a failed check is repeated. */
const checkAgainMs = 1_000

/** Milliseconds after which a job that found its sending paused has certainly returned to the queue. */
const returnMs = 1_000

/** Condition that jobs of a paused sending wait for. */
const conditionOf = (sending: string): string => `sending ${sending}`

export const makeSendingWatch = ({
  db,
  changes,
  slotKinds = () => [],
}: {
  readonly db: Db
  readonly changes: Pick<InvalidationBus, 'on'>
  /** Kinds of the jobs that were passed on between processes. */
  readonly slotKinds?: () => readonly string[]
}): SendingWatch => {
  const followed = new Map<string, { readonly account: string; readonly halts: Set<() => void> }>()
  /** Sendings of which this process returned a job to the queue because they were paused, with their accounts. */
  const paused = new Map<string, string>()
  let version = 0

  const reads = makeBatcher<SentMessage, Pick<Admission, 'state' | 'status'>>((messages) => admissions(db, messages))

  const check = async (): Promise<void> => {
    const accounts = new Map([...paused, ...[...followed].map(([id, { account }]) => [id, account] as const)])
    if (accounts.size === 0) return
    const ended: string[] = []
    for (const { id, state } of await statesOf(
      db,
      [...accounts].map(([id, account]) => ({ id, account })),
    )) {
      if (state === 'paused' || state === 'canceled') for (const halt of followed.get(id)?.halts ?? []) halt()
      if (state !== 'paused' && paused.delete(id)) ended.push(conditionOf(id))
    }
    if (ended.length > 0) setTimeout(() => void promote(ended).catch(() => {}), returnMs).unref()
  }
  /** Wakes jobs that returned to the queue while their sending was resumed or canceled: the request did not see them. If
   *  it fails, they check again by themselves. */
  const promote = (waitsFor: readonly string[]) =>
    db.begin(async (tx) => {
      for (const kind of [batchKind, submitKind, ...slotKinds()]) await promoteJobs(tx, kind, { waitsFor })
    })
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
      const { state, status } = await reads.add(message)
      if (state === 'paused') {
        paused.set(message.sending, message.account)
        if (before !== version) checkUntilRead()
        throw new Snooze('the sending is paused', pausedCheckSeconds, conditionOf(message.sending))
      }
      return { state, status, version: before }
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
