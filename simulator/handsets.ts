/** How a handset treats short messages; the numbers' last digits say it when nothing else does. */
export const outcomes = ['deliver', 'undeliverable', 'expire', 'reject', 'silent'] as const
export type Outcome = (typeof outcomes)[number]

export const isOutcome = (value: unknown): value is Outcome => outcomes.some((outcome) => outcome === value)

const magic = new Map<string, Outcome>([
  ['0001', 'undeliverable'],
  ['0002', 'expire'],
  ['0003', 'reject'],
])

/** A short message as the handset sees it: `inbound` came to it, `outbound` it sent. `at` is Unix milliseconds. */
export type Item = {
  readonly number: string
  readonly direction: 'inbound' | 'outbound'
  readonly peer: string
  readonly text: string
  readonly at: number
  readonly carrierId: string | null
}

/** What a PUT said of a handset: `sms` and whatever else, kept as given. */
export type Behaviour = Record<string, unknown>

const mostOfOne = 10_000
const mostOfAll = 200_000

type Handset<I> = { behaviour: Behaviour; items: I[] }

/** What is kept of anything that a handset saw. */
type Seen = { readonly number: string; readonly at: number }

/** The handsets of the network, and the newest of what they saw: 10,000 each, 200,000 in all. */
export class Handsets<I extends Seen = Item> {
  private readonly handsets = new Map<string, Handset<I>>()
  /** All items, oldest first, from `head` on; those that their handset has dropped are passed over. */
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
    return isOutcome(chosen) ? chosen : (magic.get(number.slice(-4)) ?? 'deliver')
  }

  seen(number: string): readonly I[] {
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
    if (items.length > mostOfOne) {
      items.shift()
      this.count--
    }
    while (this.count > mostOfAll) this.dropOldest()
    if (this.order.length > 2 * mostOfAll) this.settle()
  }

  /** Everything, as journal entries that make it again. */
  *entries(): Generator<['behaviour', string, Behaviour] | ['item', I]> {
    for (const [number, { behaviour }] of this.handsets) yield ['behaviour', number, behaviour]
    this.settle()
    for (const item of this.order) yield ['item', item]
  }

  private handset(number: string): Handset<I> {
    const known = this.handsets.get(number)
    if (known) return known
    const handset: Handset<I> = { behaviour: {}, items: [] }
    this.handsets.set(number, handset)
    return handset
  }

  /** Lets go of what the handsets have dropped. */
  private settle(): void {
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
