import type { ReceiptState, SmsReceipt, UnparsedReceipt } from '../../../ports/sms.ts'

/** A receipt with the connection that delivered it. */
export type CarrierReceipt = SmsReceipt & { connection: string }

/** An unparsed receipt with the connection that delivered it. */
export type CarrierUnparsedReceipt = UnparsedReceipt & { connection: string }

/** States of the receipts that an earlier version queued. */
const formerStates = new Map<string, ReceiptState>([
  ['ENROUTE', 'enroute'],
  ['DELIVERED', 'delivered'],
  ['EXPIRED', 'expired'],
  ['DELETED', 'undelivered'],
  ['UNDELIVERABLE', 'undelivered'],
  ['ACCEPTED', 'accepted'],
  ['UNKNOWN', 'unknown'],
  ['REJECTED', 'rejected'],
])

/** Returns a receipt as read from its job. */
export const storedReceipt = (receipt: CarrierReceipt): CarrierReceipt => ({
  ...receipt,
  state: formerStates.get(receipt.state) ?? receipt.state,
})
