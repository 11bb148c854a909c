import { print } from '../../../platform/lib/id.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import { attemptFacts, type Publication, type TimelineFact } from '../../timelines/ops.ts'
import type { CallRow } from '../store.ts'
import type { TimelineEntry } from './call-timeline.ts'

/**
 * Returns the stored facts about a call.
 * @param entries as the reader may see them
 * @param showsMoney true if the reader may see amounts
 */
export const callFacts = (
  row: CallRow,
  entries: readonly TimelineEntry[],
  { deliveries }: Pick<Publication, 'deliveries'>,
  showsMoney: boolean,
): TimelineFact[] => {
  const price = decimal(micros(row.price) ?? 0)
  return [
    ...entries.map(({ at, leg, what, text }) => ({ at, leg, what, text })),
    ...(row.ended_at && (micros(row.price) ?? 0) > 0
      ? [
          {
            at: row.ended_at,
            what: 'charged' as const,
            text: showsMoney ? `${price} USD was charged for ${row.billed} s` : `${row.billed} s were charged`,
            detail: { seconds: row.billed, ...(showsMoney ? { amount: price } : {}) },
          },
        ]
      : []),
    ...(row.recorded_at
      ? [{ at: row.recorded_at, what: 'recorded' as const, text: 'The recording became available' }]
      : []),
    ...attemptFacts(deliveries),
  ]
}

/** Returns by what the events of a call are found. */
export const callSubject = (row: CallRow, offsetMs: number) => ({
  printed: print('CDR', row.id),
  conversation: `call ${row.id}`,
  id: row.id,
  moments: [row.created_at, row.answered_at, row.ended_at, row.updated_at].filter((at) => at !== null),
  offsetMs,
})
