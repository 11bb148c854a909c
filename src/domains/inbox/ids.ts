import { parse } from '../../platform/lib/id.ts'
import type { ItemRef } from './item-sources.ts'

/** Returns the bare id of an item: its prefix depends on the kind, which its id does not need. */
export const parseItem = (printed: string): string | null => {
  for (const prefix of ['SMI', 'SMO', 'MSG', 'CDR', 'NTE', 'ITM'] as const) {
    const id = parse(prefix, printed)
    if (id !== null) return id
  }
  return null
}

/** Returns the reference to a message or call; null for other items. */
export const parseItemRef = (printed: string): ItemRef | null => {
  for (const [prefix, kind] of [
    ['SMI', 'sms'],
    ['SMO', 'sms'],
    ['MSG', 'msgapp'],
    ['CDR', 'call'],
  ] as const) {
    const id = parse(prefix, printed)
    if (id !== null) return { kind, id }
  }
  return null
}

/** Returns the table and bare id of a channel. */
export const parseChannel = (printed: string) => {
  for (const [prefix, table] of [
    ['SMS', 'sms_channels'],
    ['WPN', 'msgapp_channels'],
    ['DID', 'virtual_numbers'],
  ] as const) {
    const id = parse(prefix, printed)
    if (id !== null) return { table, id }
  }
  return null
}
