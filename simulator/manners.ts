import type { Fault, FaultKind } from './faults.ts'

const lasting = Number.MAX_SAFE_INTEGER

/** How the carrier treats submits to one handset, whatever becomes of them there: faults that come with the number. */
export const manners = {
  throttled: { kind: 'refuse', status: 0x58, count: lasting },
  queue_full: { kind: 'refuse', status: 0x14, count: lasting },
  system_error: { kind: 'refuse', status: 0x08, count: lasting },
  mute: { kind: 'mute', count: lasting },
  slow: { kind: 'slow', ms: 1_500, count: lasting },
  disconnect: { kind: 'disconnect', count: lasting },
  half_pdu: { kind: 'half_pdu', count: lasting },
  empty_id: { kind: 'empty_id', count: lasting },
  hex_ids: { kind: 'ids', response: 'hex', receipt: 'decimal', count: lasting },
  receipt_first: { kind: 'receipt_first', count: lasting },
  duplicate_receipts: { kind: 'duplicate_receipts', count: lasting },
  receipts_reversed: { kind: 'receipts_reversed', count: lasting },
  first_receipt_only: { kind: 'first_receipt_only', count: lasting },
} as const satisfies Record<string, Fault>

type Manner = keyof typeof manners

export const isManner = (value: unknown): value is Manner => typeof value === 'string' && Object.hasOwn(manners, value)

/** Those that keep a submit from being answered well. They meet every other submit, so that another try gets through. */
const hindering: ReadonlySet<FaultKind> = new Set(['refuse', 'mute', 'disconnect', 'half_pdu'])

/** Which submit to a handset is the other one. */
export class Manners {
  private readonly hindered = new Set<string>()

  /** The fault of that kind that a handset's manner brings to this submit. */
  take(kind: FaultKind, number: string, manner: unknown): Fault | undefined {
    if (!isManner(manner)) return undefined
    const fault = manners[manner]
    if (fault.kind !== kind) return undefined
    if (!hindering.has(kind)) return fault
    if (this.hindered.delete(number)) return undefined
    this.hindered.add(number)
    return fault
  }
}
