import { storable } from '../../platform/lib/storable.ts'
import type { SmsInbound, SmsReceipt } from '../../ports/sms.ts'
import { maxCarrierAddress, maxCarrierCode, maxCarrierId } from './limits.ts'

// Fields of carriers as they can be stored, looked up and shown: without it, a callback with a long or a false one fails
// each time that the carrier repeats it.

/** Beyond it, a concatenation reference is no integer of PostgreSQL. */
const referenceRange = 2 ** 31

const addressOf = (address: string): string => storable(address, maxCarrierAddress)

/** Returns a receipt with fields that can be stored. The id is cut as that of an answer to a submit. */
export const storableReceipt = (receipt: SmsReceipt): SmsReceipt => {
  const { carrierId, error, handset, number } = receipt
  return {
    ...receipt,
    carrierId: storable(carrierId, maxCarrierId),
    error: error === null ? null : storable(error, maxCarrierCode),
    ...(handset === undefined ? {} : { handset: addressOf(handset) }),
    ...(number === undefined ? {} : { number: addressOf(number) }),
  }
}

/** Returns a message with fields that can be stored. Its receiver cleans the text. */
export const storableInbound = (message: SmsInbound): SmsInbound => {
  const { source, destination, concat } = message
  return {
    ...message,
    source: addressOf(source),
    destination: addressOf(destination),
    concat: concat && { ...concat, reference: concat.reference % referenceRange },
  }
}
