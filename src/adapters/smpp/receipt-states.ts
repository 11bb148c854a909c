import { type MessageState, type StateWords, stateOfCode } from '@trunkline/smpp/receipt.ts'
import type { ReceiptState } from '../../ports/sms.ts'
import type { SmppSettings } from './smpp-settings.ts'

/** State of a part by message_state (5.2.28). */
export const receiptStates: Record<MessageState, ReceiptState> = {
  ENROUTE: 'enroute',
  DELIVERED: 'delivered',
  EXPIRED: 'expired',
  DELETED: 'undelivered',
  UNDELIVERABLE: 'undelivered',
  ACCEPTED: 'accepted',
  UNKNOWN: 'unknown',
  REJECTED: 'rejected',
}

/** Returns the words of a carrier by message state. */
export const wordsOf = ({ receipt_states: own = {} }: Pick<SmppSettings, 'receipt_states'>): StateWords => {
  // Object.entries loses the names of the states; the last of those with one meaning is as good as the first.
  const states = new Map(Object.entries(receiptStates).map(([name, state]) => [state, name as MessageState]))
  return new Map(Object.entries(own).map(([word, state]) => [word.toUpperCase(), states.get(state) ?? 'UNKNOWN']))
}

/** Returns the state of a message_state in a query_sm_resp (4.8.2), as in a receipt; `unknown` for unknown numbers. */
export const queriedState = (code: number, words: StateWords): ReceiptState =>
  receiptStates[words.get(String(code)) ?? stateOfCode(code) ?? 'UNKNOWN']
