import type { SmsReceipt } from '../../../ports/sms.ts'

/** A receipt with the connection that delivered it. */
export type CarrierReceipt = SmsReceipt & { connection: string }
