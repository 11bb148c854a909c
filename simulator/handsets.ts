/** Outcomes of messages to a handset. Default: chosen by the last digits of the number. */
export const outcomes = ['deliver', 'undeliverable', 'expire', 'reject', 'silent'] as const
export type Outcome = (typeof outcomes)[number]

export const isOutcome = (value: unknown): value is Outcome => outcomes.some((outcome) => outcome === value)

const outcomeByLastDigits = new Map<string, Outcome>([
  ['0001', 'undeliverable'],
  ['0002', 'expire'],
  ['0003', 'reject'],
])

/** A short message of a handset: `inbound` it received, `outbound` it sent. `at` is Unix milliseconds. */
export type Item = {
  readonly number: string
  readonly direction: 'inbound' | 'outbound'
  readonly peer: string
  readonly text: string
  readonly at: number
  readonly carrierId: string | null
}

/** Settings of a handset from PUT: `sms` and any others, stored as given. */
export type Behaviour = Record<string, unknown>

const maxItemsPerHandset = 10_000
const maxItems = 200_000

type Handset<I> = { behaviour: Behaviour; items: I[] }

/** Common properties of stored items. */
type HandsetItem = { readonly number: string; readonly at: number }

/** Handsets of the network with their newest items: 10,000 each, 200,000 in all. */
export class Handsets<I extends HandsetItem = Item> {
  private readonly handsets = new Map<string, Handset<I>>()
  /** All items, oldest first, starting at `head`; items dropped by their handset are skipped. */
  private order: I[] = []
  private head = 0
  private count = 0

  get size(): number {
    return this.handsets.size
  }

  get items(): number {
    return this.count
  }

  behaviour(number: string): Behaviour {
    return this.handsets.get(number)?.behaviour ?? {}
  }

  outcome(number: string): Outcome {
    const chosen = this.handsets.get(number)?.behaviour.sms
    return isOutcome(chosen) ? chosen : (outcomeByLastDigits.get(number.slice(-4)) ?? 'deliver')
  }

  itemsOf(number: string): readonly I[] {
    return this.handsets.get(number)?.items ?? []
  }

  change(number: string, behaviour: Behaviour): void {
    const handset = this.handset(number)
    handset.behaviour = { ...handset.behaviour, ...behaviour }
  }

  add(item: I): void {
    const { items } = this.handset(item.number)
    items.push(item)
    this.order.push(item)
    this.count++
    if (items.length > maxItemsPerHandset) {
      items.shift()
      this.count--
    }
    while (this.count > maxItems) this.dropOldest()
    if (this.order.length > 2 * maxItems) this.compact()
  }

  /** The state as journal entries that restore it. */
  *entries(): Generator<['behaviour', string, Behaviour] | ['item', I]> {
    for (const [number, { behaviour }] of this.handsets) yield ['behaviour', number, behaviour]
    this.compact()
    for (const item of this.order) yield ['item', item]
  }

  private handset(number: string): Handset<I> {
    const known = this.handsets.get(number)
    if (known) return known
    const handset: Handset<I> = { behaviour: {}, items: [] }
    this.handsets.set(number, handset)
    return handset
  }

  /** Removes items that the handsets have dropped. */
  private compact(): void {
    this.order = [...this.handsets.values()].flatMap(({ items }) => items).sort((a, b) => a.at - b.at)
    this.head = 0
  }

  private dropOldest(): void {
    const oldest = this.order[this.head++]
    const items = oldest && this.handsets.get(oldest.number)?.items
    if (!items || items[0] !== oldest) return
    items.shift()
    this.count--
  }
}
