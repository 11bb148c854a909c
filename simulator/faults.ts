/** What the carrier can be told to do wrong. */
export const faultKinds = [
  /** Breaks the connection instead of answering a submit, which is not taken. */
  'disconnect',
  /** Takes a submit and never answers it. */
  'mute',
  /** Takes a submit and answers after `ms`. */
  'slow',
  /** Refuses what is over `per_second` with ESME_RTHROTTLED, until taken back. */
  'throttle',
  /** Refuses a submit with `status`. */
  'refuse',
  /** Refuses a bind with `status`. */
  'refuse_bind',
  /** Sends the receipt before the answer. */
  'receipt_first',
  /** Sends every receipt twice. */
  'duplicate_receipts',
  /** Sends receipts of a long text's parts last part first. */
  'receipts_reversed',
  /** Of a long text sends the receipt of its first part alone. */
  'first_receipt_only',
  /** Writes ids as `response` says in answers and as `receipt` says in receipts: `decimal`, `hex` or `HEX`. */
  'ids',
  /** Answers with an empty message_id. */
  'empty_id',
  /** Sends half of the answer, then resets the connection. */
  'half_pdu',
  /** Sends the octets `pdu` (hexadecimal) to every bind, at once. */
  'malformed',
] as const

export type FaultKind = (typeof faultKinds)[number]

export const isFaultKind = (value: unknown): value is FaultKind => faultKinds.some((kind) => kind === value)

/** Those that last until they are taken back. */
const lasting: ReadonlySet<FaultKind> = new Set(['throttle', 'ids', 'receipts_reversed', 'first_receipt_only'])

/** `count` is how many times it still happens, once by default. */
export type Fault = { readonly kind: FaultKind; count: number; readonly [parameter: string]: unknown }

export class Faults {
  private active: Fault[] = []

  get list(): readonly Fault[] {
    return this.active
  }

  add(kind: FaultKind, parameters: Record<string, unknown>): void {
    const once = lasting.has(kind) ? Number.MAX_SAFE_INTEGER : 1
    const count = typeof parameters.count === 'number' ? parameters.count : once
    this.active.push({ ...parameters, kind, count })
  }

  clear(): void {
    this.active = []
  }

  /** The fault when it is due now; counts it down. */
  take(kind: FaultKind): Fault | undefined {
    if (this.active.length === 0) return undefined
    const fault = this.active.find((one) => one.kind === kind)
    if (fault && --fault.count <= 0) this.active = this.active.filter((one) => one !== fault)
    return fault
  }
}

/** A number among a fault's parameters. */
export const numberIn = (fault: Fault, name: string, otherwise: number): number => {
  const value = fault[name]
  return typeof value === 'number' ? value : otherwise
}
