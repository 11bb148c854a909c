import type { Item } from './inbox-types.ts'
import { createdAt } from './item-order.ts'

// A thread as it is shown: days, and runs of messages of one author. Pure.

export type Row =
  | { readonly kind: 'day'; readonly key: string; readonly at: string }
  | {
      readonly kind: 'item'
      readonly key: string
      readonly item: Item
      readonly isFirst: boolean
      readonly isLast: boolean
    }

/** Messages of one author within this time are one run. Milliseconds. */
const runLength = 5 * 60_000

const dayOf = (at: string): string => new Date(at).toDateString()

const authorOf = ({ kind, direction, user_uuid, channel_uuid }: Item): string | null =>
  kind === 'sms' || kind === 'msgapp' ? [direction, user_uuid, channel_uuid].join() : null

const isRun = (before: Item | undefined, item: Item | undefined): boolean =>
  before !== undefined &&
  item !== undefined &&
  authorOf(item) !== null &&
  authorOf(before) === authorOf(item) &&
  dayOf(before.at) === dayOf(item.at) &&
  Date.parse(item.at) - Date.parse(before.at) < runLength

/** True for changes that one act made. Their ids may differ by a few milliseconds. */
const isSameAct = (item: Item, other: Item | undefined): boolean =>
  other?.change !== undefined &&
  other.user_uuid === item.user_uuid &&
  Math.abs(createdAt(other) - createdAt(item)) < 100

/** True for a change that another one of the same act already says: a snooze changes the status and its end. */
const isSaid = (item: Item, others: readonly (Item | undefined)[]): boolean => {
  const { field, to } = item.change ?? {}
  const fields = others.flatMap((other) => (isSameAct(item, other) ? [other?.change?.field ?? ''] : []))
  if (field === 'status') return to === 'snoozed' && fields.some((each) => each.startsWith('snoozed_'))
  const isEnd = field?.startsWith('snoozed_') && (to === null || to === 'false')
  return isEnd === true && fields.length > 0
}

/** The rows of a thread, oldest first. */
export const rowsOf = (all: readonly Item[]): readonly Row[] => {
  const items = all.filter((item, index) => !isSaid(item, [all[index - 1], all[index + 1]]))
  return items.flatMap((item, index): Row[] => {
    const [before, next] = [items[index - 1], items[index + 1]]
    const row: Row = {
      kind: 'item',
      key: item.uuid,
      item,
      isFirst: !isRun(before, item),
      isLast: !isRun(item, next),
    }
    const isNewDay = before === undefined || dayOf(before.at) !== dayOf(item.at)
    return isNewDay ? [{ kind: 'day', key: `day-${dayOf(item.at)}`, at: item.at }, row] : [row]
  })
}
