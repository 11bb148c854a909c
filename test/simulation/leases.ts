import type { Statement } from './database.ts'
import { type Process, type Schedule, short } from './schedule.ts'

type Lease = { readonly process: Process; readonly fence: number; readonly key: string | null; until: number }

const list = (value: unknown): string[] => String(value).replaceAll(/[{}"]/g, '').split(',')

/**
 * The leases of jobs as the statements of the processes show them: a lease has one holder, and only its holder extends
 * it or ends its job.
 */
export const followLeases = (schedule: Schedule): ((statement: Statement) => void) => {
  const leases = new Map<string, Lease>()
  const held = (id: string) => {
    const lease = leases.get(id)
    return lease && lease.until > schedule.now ? lease : null
  }

  const claimed = (process: Process, id: string, key: string | null, fence: number, until: number) => {
    const other = held(id)
    if (other)
      schedule.violate(
        `${process.name} claims job ${short(id)}, which ${other.process.name} holds under fence ${other.fence}`,
      )
    if ((leases.get(id)?.fence ?? 0) >= fence) schedule.violate(`the fence of job ${short(id)} does not grow: ${fence}`)
    for (const [one, lease] of leases)
      if (key !== null && lease.key === key && one !== id && lease.until > schedule.now)
        schedule.violate(
          `${process.name} claims job ${short(id)} while ${lease.process.name} holds ${short(one)} of the same key`,
        )
    leases.set(id, { process, fence, key, until })
  }

  /** @param what the change of a job that only its holder makes */
  const ownedBy = (process: Process, id: string, what: string): Lease | null => {
    const lease = leases.get(id)
    if (!lease || lease.process === process) return lease ?? null
    schedule.violate(`${process.name} ${what} job ${short(id)}, whose lease ${lease.process.name} took over`)
    return null
  }

  /** The lease of a job is given back; its fence goes on growing. */
  const release = (id: string) => {
    const lease = leases.get(id)
    if (lease) lease.until = 0
  }

  return ({ process, at, text, values, rows }) => {
    if (text.includes('jobs_complete_and_claim('))
      for (const { what, id, key, fence } of rows) {
        if (what === 'claimed')
          claimed(
            process,
            String(id),
            typeof key === 'string' ? key : null,
            Number(fence),
            at + Number(values[5]) * 1_000,
          )
        if (what === 'ended') {
          ownedBy(process, String(id), 'ends')
          release(String(id))
        }
      }
    else if (text.includes('jobs_extend('))
      for (const { id } of rows) {
        const lease = ownedBy(process, String(id), 'extends')
        if (lease) lease.until = at + Number(list(values[2])[0]) * 1_000
      }
    else if (text.includes('jobs_reschedule(') || text.includes('jobs_move_to_dead_letter('))
      for (const { id } of rows) {
        ownedBy(process, String(id), 'gives back')
        release(String(id))
      }
    else if (text.includes('sms_accept_batch(')) {
      const [batch, , , , seconds] = values
      if (rows[0]?.result === 'leased') claimed(process, String(batch), null, 1, at + Number(seconds) * 1_000)
    } else if (text.includes('sms_complete_batches(') || text.includes('sms_complete_submits(')) {
      for (const { what, id } of rows)
        if (what === 'held' || what === 'ended') ownedBy(process, String(id), 'completes')
    } else if (text.includes('jobs_recover_orphans(')) {
      const known = new Set(list(values[2]))
      for (const [id, lease] of leases) if (lease.process === process && !known.has(id)) release(id)
    }
  }
}
