import type { Db } from '../db/sql.ts'

/** How often whoever runs the calls says so, and the others look, ms. */
export const lookMs = 1_000
/** Who has said nothing between so many looks of another process has died, was stopped, or has lost its database. */
const mostSilent = 6
/** For how long a process may believe that nobody has taken over since it said that it runs them, ms: less than those looks take. */
const heldMs = 5_000

type Row = { fence: number; beats: number; holder: string | null }
type Seen = { readonly fence: number; readonly beats: number; readonly silent: number }

/** Who runs the calls. `unsure`: whoever does has not said so since we look. */
export type Whose = 'ours' | 'theirs' | 'unsure'

/** The right to run the calls of an installation, which one process has at a time. */
export type Lease = {
  /** Says that they are ours if they are, takes them over if nobody runs them. Call it every `lookMs`. */
  look(): Promise<Whose>
  /** The number of our tenure; null while it is not ours. */
  tenure(): number | null
  /** False as soon as another process may have taken over: nothing new is begun then. */
  isHeld(): boolean
  /** For how long another process may have taken over from us, ms; 0 while it is held, or not ours. */
  lapsed(): number
  /** Who has it, as far as we have seen. */
  holder(): string | null
  /** Lets another process have it at once. */
  release(): Promise<void>
}

/**
 * @param name of this process, for people
 *
 * The clock of each process tells it only how often it looked: a database that was away, and a process that was stopped, count for
 * nothing. So a restart of the database ends no call, whoever reaches it first.
 */
export const makeLease = (db: Db, name: string): Lease => {
  let fence: number | null = null
  let heldUntil = 0
  let seen: Seen | null = null
  let holder: string | null = null

  const prolong = async (ours: number): Promise<boolean> => {
    const asked = performance.now()
    const stays = await db.run`update voice_lease set beats = beats + 1 where fence = ${ours} and holder is not null`
    if (stays > 0) heldUntil = asked + heldMs
    return stays > 0
  }

  const take = async ({ fence: known, beats }: Row): Promise<boolean> => {
    const asked = performance.now()
    const taken = await db.maybe<{ fence: number }>`
      update voice_lease set fence = fence + 1, beats = 0, holder = ${name}
      where fence = ${known} and beats = ${beats}
      returning fence`
    if (!taken) return false
    fence = taken.fence
    heldUntil = asked + heldMs
    holder = name
    return true
  }

  const lose = () => {
    fence = null
    heldUntil = 0
    seen = null
  }

  /** @param mayTake false for who has just lost it: its calls are ended first */
  const watch = async (mayTake: boolean): Promise<Whose> => {
    const row = await db.one<Row>`select fence, beats, holder from voice_lease`
    holder = row.holder
    const isSame = seen?.fence === row.fence && seen.beats === row.beats
    const silent: number = isSame && seen ? seen.silent + 1 : 0
    if (mayTake && (row.holder === null || silent >= mostSilent) && (await take(row))) return 'ours'
    const isHeard = seen !== null && !isSame
    seen = { fence: row.fence, beats: row.beats, silent }
    return isHeard ? 'theirs' : 'unsure'
  }

  const lapsed = () => (fence === null ? 0 : Math.max(0, performance.now() - heldUntil))

  return {
    tenure: () => fence,
    isHeld: () => fence !== null && lapsed() === 0,
    lapsed,
    holder: () => holder,
    look: async () => {
      try {
        if (fence === null) return await watch(true)
        if (await prolong(fence)) return 'ours'
        lose()
        return await watch(false)
      } catch (error) {
        // While nobody can be heard, silence says nothing.
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

/** For a start that knows that no other process lives: it need not wait to miss one. */
export const freeVoice = (db: Db): Promise<number> => db.run`update voice_lease set holder = null`
