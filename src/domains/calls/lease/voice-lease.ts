import type { Db, Sql } from '../../../platform/db/sql.ts'
import { leaseHeldMs, maxSilentChecks } from '../limits.ts'

type LeaseRow = { fence: number; beats: number; holder: string | null }
type LastSeen = { readonly fence: number; readonly beats: number; readonly silent: number }

/** Holder of the lease. `unsure`: no heartbeat has been seen since the checks started. */
export type LeaseHolder = 'ours' | 'theirs' | 'unsure'

/** Lease to run the calls of an installation, which one process holds at a time. */
export type VoiceLease = {
  /** Sends a heartbeat if the lease is ours, or takes the lease over if it is free. Call it every `heartbeatMs`. */
  check(): Promise<LeaseHolder>
  /** Our fencing epoch; null while the lease is not ours. */
  epoch(): number | null
  /** False as soon as another process may have taken over. No new calls start then. */
  isHeld(): boolean
  /** Milliseconds since another process may have taken over; 0 while the lease is held, or not ours. */
  lapsedMs(): number
  /** Last known holder. */
  holder(): string | null
  /** Releases the lease, so that another process may take it at once. */
  release(): Promise<void>
}

/**
 * Makes the lease of this process. Silence is measured in checks, not in time: an outage of the database or a stopped
 * process does not count. A restart of the database therefore ends no call, whichever process reaches it first.
 * @param name of this process, for people
 */
export const makeVoiceLease = (db: Db, name: string, now: () => number = () => performance.now()): VoiceLease => {
  let fence: number | null = null
  let heldUntil = 0
  let seen: LastSeen | null = null
  let holder: string | null = null

  const renew = async (ours: number): Promise<boolean> => {
    const requestedAt = now()
    const stays = await db.run`update voice_lease set beats = beats + 1 where fence = ${ours} and holder is not null`
    if (stays > 0) heldUntil = requestedAt + leaseHeldMs
    return stays > 0
  }

  const take = async ({ fence: known, beats }: LeaseRow): Promise<boolean> => {
    const requestedAt = now()
    const taken = await db.maybe<{ fence: number }>`
      update voice_lease set fence = fence + 1, beats = 0, holder = ${name}
      where fence = ${known} and beats = ${beats}
      returning fence`
    if (!taken) return false
    fence = taken.fence
    heldUntil = requestedAt + leaseHeldMs
    holder = name
    return true
  }

  const lose = () => {
    fence = null
    heldUntil = 0
    seen = null
  }

  /** @param mayTake false for a process that has just lost the lease, as its calls are ended first */
  const observe = async (mayTake: boolean): Promise<LeaseHolder> => {
    const row = await db.one<LeaseRow>`select fence, beats, holder from voice_lease`
    holder = row.holder
    const isSame = seen?.fence === row.fence && seen.beats === row.beats
    const silent: number = isSame && seen ? seen.silent + 1 : 0
    if (mayTake && (row.holder === null || silent >= maxSilentChecks) && (await take(row))) return 'ours'
    const isHeard = seen !== null && !isSame
    seen = { fence: row.fence, beats: row.beats, silent }
    return isHeard ? 'theirs' : 'unsure'
  }

  const lapsed = () => (fence === null ? 0 : Math.max(0, now() - heldUntil))

  return {
    epoch: () => fence,
    isHeld: () => fence !== null && lapsed() === 0,
    lapsedMs: lapsed,
    holder: () => holder,
    check: async () => {
      try {
        if (fence === null) return await observe(true)
        if (await renew(fence)) return 'ours'
        lose()
        return await observe(false)
      } catch (error) {
        // Silence does not count while the database cannot be reached.
        seen = null
        throw error
      }
    },
    release: async () => {
      const ours = fence
      lose()
      if (ours !== null) await db.run`update voice_lease set holder = null where fence = ${ours}`
    },
  }
}

/** Whether a process runs the calls, or did until a moment ago. */
export const isVoiceRunning = async (sql: Sql): Promise<boolean> =>
  (await sql.maybe`select 1 from voice_lease where holder is not null`) !== null

/** Frees the lease, for a start that knows that no other process runs. */
export const freeVoiceLease = (db: Db): Promise<number> => db.run`update voice_lease set holder = null`
