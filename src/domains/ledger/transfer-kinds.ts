/** Kinds of transfers. `hold` and `release` move money into and out of a hold; every other kind is final. */
export const transferKinds = [
  'credit',
  'debit',
  'correction',
  'write_off',
  'sms',
  'sms_in',
  'sms_refund',
  'call',
  'number_purchase',
  'number_month',
  'hold',
  'release',
] as const

export type TransferKind = (typeof transferKinds)[number]
