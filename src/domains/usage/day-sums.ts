import { mainCountryOf } from '@trunkline/phone/phone.ts'
import { print } from '../../platform/lib/id.ts'
import { decimal, type Micros, micros } from '../../platform/lib/money.ts'
import { TimeSlice } from '../../platform/lib/time-slice.ts'
import { usageDimensions, usageKinds } from './dimensions.ts'
import type { DaySum, SourceRow } from './store.ts'

// Splits transfers into the sums of days. The sums of each way of splitting add up to the transfers exactly: what the
// items of a transfer do not explain is added as an item without a country or a channel.

/** Equal items of a transfer. `amount` is that of each. */
type Item = Pick<SourceRow, 'country' | 'channel' | 'direction' | 'units'> & {
  readonly contacts: readonly (string | null)[]
  readonly amount: Micros
}

/** The value of an item that has none. */
const none = 'none'

const usage: ReadonlySet<string> = new Set(usageKinds)

const countryOf = ({ country }: Item, contact: string | null): string =>
  country || (contact?.startsWith('+') ? mainCountryOf(contact) : undefined) || none

/** Returns how many of equal items belong to each country. */
const countriesOf = (item: Item): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const contact of item.contacts) {
    const country = countryOf(item, contact)
    counts.set(country, (counts.get(country) ?? 0) + 1)
  }
  return counts
}

const channelOf = (kind: string, { channel }: Item): string =>
  channel === null ? none : print(kind.startsWith('sms') ? 'SMS' : 'DID', channel)

/** Returns the values by which an item is split, in the order of the dimensions. */
const valuesOf = (kind: string, item: Item, country: string, channel: string): readonly string[] => {
  const values = {
    kind,
    country,
    channel,
    status: kind === 'sms_refund' ? 'refunded' : 'charged',
    direction: item.direction ?? none,
  }
  return usageDimensions.map((by) => values[by])
}

/** True for the part of a transfer that no item explains. */
const isRest = ({ units, direction }: Item): boolean => units === 0 && direction === null

const total = (row: SourceRow): Micros => micros(row.amount) ?? 0

/** Returns the items of a transfer. A rest, positive or negative, is an item of its own. */
const itemsOf = (rows: readonly SourceRow[]): Item[] => {
  const [first] = rows
  if (!first) return []
  const items = rows.map((row) => ({
    ...row,
    // A number as a carrier wrote it may contain commas. Only shares have several.
    contacts: row.share === null ? [row.contacts] : (row.contacts?.split(',') ?? [null]),
    amount: row.share === null ? total(row) : (micros(row.share) ?? 0),
  }))
  const rest = total(first) - items.reduce((sum, { amount, contacts }) => sum + amount * contacts.length, 0)
  const unknown = { contacts: [null], country: null, channel: null, direction: null, units: 0, amount: rest }
  return rest === 0 ? items : [...items, unknown]
}

/** Items of a transfer with the same values. */
type Group = { readonly values: readonly string[]; n: number; units: number; amount: Micros }

/** Adds up the items of a transfer. Most batches go to few countries over one channel. */
const groupsOf = (kind: string, rows: readonly SourceRow[]): Map<string, Group> => {
  const groups = new Map<string, Group>()
  for (const item of itemsOf(rows)) {
    const channel = channelOf(kind, item)
    for (const [country, count] of countriesOf(item)) {
      const key = `${country} ${channel}`
      const group = groups.get(key) ?? { values: valuesOf(kind, item, country, channel), n: 0, units: 0, amount: 0 }
      groups.set(key, group)
      group.n += isRest(item) ? 0 : count
      group.units += item.units * count
      group.amount += item.amount * count
    }
  }
  return groups
}

/** Collects sums in memory: one for each day and value that occurs. */
export const makeDaySums = () => {
  const sums = new Map<string, Omit<DaySum, 'amount'> & { amount: Micros }>()
  const add = (
    row: SourceRow,
    by: string,
    value: string,
    { n, units, amount }: Record<'n' | 'units' | 'amount', number>,
  ) => {
    const key = `${row.account_id} ${by} ${row.day} ${row.kind} ${value}`
    const known = sums.get(key)
    if (known) {
      known.n += n
      known.units += units
      known.amount += amount
      return
    }
    const { account_id, day, kind } = row
    sums.set(key, { account_id, by, day, value, kind, n, units, amount })
  }
  const addTransfer = (rows: readonly SourceRow[]): void => {
    const [row] = rows
    if (!row) return
    const { kind } = row
    if (!usage.has(kind)) {
      const amount = row.debit === 'balance' ? -total(row) : total(row)
      add(row, 'adjustment', kind, { n: 1, units: 0, amount })
      return
    }
    const sign = kind === 'sms_refund' ? -1 : 1
    for (const group of groupsOf(kind, rows).values())
      for (const [i, by] of usageDimensions.entries())
        add(row, by, group.values[i] ?? none, { ...group, amount: sign * group.amount })
  }
  return {
    /** Adds transfers. @param rows those of one transfer follow each other */
    add: async (rows: readonly SourceRow[]): Promise<void> => {
      const slice = new TimeSlice()
      const byTransfer = Map.groupBy(rows, ({ account_id, id }) => `${account_id} ${id}`)
      for (const transfer of byTransfer.values()) {
        if (slice.isOver) await slice.yieldToLoop()
        addTransfer(transfer)
      }
    },
    /** Returns the sums, ordered by their keys. */
    sums: (): DaySum[] =>
      [...sums.entries()]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, sum]) => ({ ...sum, amount: decimal(sum.amount) })),
  }
}
