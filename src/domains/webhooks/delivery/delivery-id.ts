import { print } from '../../../platform/lib/id.ts'

/** A delivery is one event for one webhook. Its id contains both, and so needs no index of its own. */
export type DeliveryId = { readonly webhook: string; readonly event: string }

export const printDelivery = ({ webhook, event }: DeliveryId): string =>
  print('WHD', Buffer.from((webhook + event).replaceAll('-', ''), 'hex').toString('base64url'))

const uuidOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Parses a delivery id; null if it is malformed. */
export const parseDelivery = (printed: string): DeliveryId | null => {
  const bytes = Buffer.from(printed.slice(3), 'base64url')
  if (bytes.length !== 32) return null
  const hex = bytes.toString('hex')
  const id = { webhook: uuidOf(hex.slice(0, 32)), event: uuidOf(hex.slice(32)) }
  return printDelivery(id) === printed ? id : null
}
