/** Faults of the carrier. */
export const faultKinds = [
  /** Drops the connection instead of responding to a submit, which is not accepted. */
  'disconnect',
  /** Accepts a submit and never responds. */
  'mute',
  /** Accepts a submit and responds after `ms`. */
  'slow',
  /** Refuses submits above `per_second` with ESME_RTHROTTLED, until cleared. */
  'throttle',
  /** Refuses a submit with `status`. */
  'refuse',
  /** Refuses a bind with `status`. */
  'refuse_bind',
  /** Sends the receipt before the response. */
  'receipt_first',
  /** Sends every receipt twice. */
  'duplicate_receipts',
  /** Sends the receipts of a long message's parts in reverse order. */
  'receipts_reversed',
  /** Sends only the receipt of the first part of a long message. */
  'first_receipt_only',
  /** Formats ids as `response` in responses and as `receipt` in receipts: `decimal`, `hex` or `HEX`. */
  'ids',
  /** Responds with an empty message_id. */
  'empty_id',
  /** Sends half of the response, then resets the connection. */
  'half_pdu',
  /** Sends the bytes `pdu` (hexadecimal) to every bind at once. */
  'malformed',
] as const

export type FaultKind = (typeof faultKinds)[number]

export const isFaultKind = (value: unknown): value is FaultKind => faultKinds.some((kind) => kind === value)

/** Faults that last until cleared. */
const permanentKinds: ReadonlySet<FaultKind> = new Set(['throttle', 'ids', 'receipts_reversed', 'first_receipt_only'])

/** `count`: remaining occurrences. Default: 1. */
export type Fault = { readonly kind: FaultKind; count: number; readonly [parameter: string]: unknown }

export class Faults {
  private active: Fault[] = []

  get list(): readonly Fault[] {
    return this.active
  }

  add(kind: FaultKind, parameters: Record<string, unknown>): void {
    const once = permanentKinds.has(kind) ? Number.MAX_SAFE_INTEGER : 1
    const count = typeof parameters.count === 'number' ? parameters.count : once
    this.active.push({ ...parameters, kind, count })
  }

  clear(): void {
    this.active = []
  }

  /** Returns and counts a fault that is due now. */
  take(kind: FaultKind): Fault | undefined {
    if (this.active.length === 0) return undefined
    const fault = this.active.find((one) => one.kind === kind)
    if (fault && --fault.count <= 0) this.active = this.active.filter((one) => one !== fault)
    return fault
  }
}

/** Reads a numeric parameter of a fault. */
export const numberIn = (fault: Fault, name: string, otherwise: number): number => {
  const value = fault[name]
  return typeof value === 'number' ? value : otherwise
}
