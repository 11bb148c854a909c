import type { ReceiptState, SmsReceipt, UnparsedReceipt } from '../../../ports/sms.ts'
import type { TokenPart } from '../part-tokens.ts'

/** A receipt with the connection that delivered it. `ours`: the part that its token names. */
export type CarrierReceipt = Omit<SmsReceipt, 'token'> & { connection: string; ours?: TokenPart }

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
