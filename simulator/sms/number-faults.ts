import type { Fault, FaultKind } from './faults.ts'

const permanent = Number.MAX_SAFE_INTEGER

/** Faults of submits to single handsets, independent of the message outcome. */
export const numberFaults = {
  throttled: { kind: 'refuse', status: 0x58, count: permanent },
  queue_full: { kind: 'refuse', status: 0x14, count: permanent },
  system_error: { kind: 'refuse', status: 0x08, count: permanent },
  mute: { kind: 'mute', count: permanent },
  slow: { kind: 'slow', ms: 1_500, count: permanent },
  disconnect: { kind: 'disconnect', count: permanent },
  half_pdu: { kind: 'half_pdu', count: permanent },
  empty_id: { kind: 'empty_id', count: permanent },
  hex_ids: { kind: 'ids', response: 'hex', receipt: 'decimal', count: permanent },
  receipt_first: { kind: 'receipt_first', count: permanent },
  duplicate_receipts: { kind: 'duplicate_receipts', count: permanent },
  receipts_reversed: { kind: 'receipts_reversed', count: permanent },
  first_receipt_only: { kind: 'first_receipt_only', count: permanent },
} as const satisfies Record<string, Fault>

type NumberFault = keyof typeof numberFaults

export const isNumberFault = (value: unknown): value is NumberFault =>
  typeof value === 'string' && Object.hasOwn(numberFaults, value)

/** Faults that prevent a successful response. They affect every other submit, so that a retry succeeds. */
const alternatingKinds: ReadonlySet<FaultKind> = new Set(['refuse', 'mute', 'disconnect', 'half_pdu'])

/** Tracks which submit to a handset is affected. */
export class NumberFaultInjector {
  private readonly affected = new Set<string>()

  /** Returns the fault of that kind that the handset's setting applies to this submit. */
  take(kind: FaultKind, number: string, manner: unknown): Fault | undefined {
    if (!isNumberFault(manner)) return undefined
    const fault = numberFaults[manner]
    if (fault.kind !== kind) return undefined
    if (!alternatingKinds.has(kind)) return fault
    if (this.affected.delete(number)) return undefined
    this.affected.add(number)
    return fault
  }
}
