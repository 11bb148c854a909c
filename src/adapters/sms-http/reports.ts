import type { ReceiptState, SmsIntake } from '../../ports/sms.ts'
import { maxUnparsedField, maxUnparsedOctets } from './limits.ts'

/** A report of a provider on a message, as its callback has it. */
type Report = {
  /** The provider's id. */
  readonly id: string
  /** The token of the part, if the callback has one. */
  readonly token: string | undefined
  /** The provider's word for the state. */
  readonly word: string
  readonly error: string | null
  readonly handset?: string
  readonly number?: string
  /** The callback as received, for the operator if the word is unknown. */
  readonly raw: Buffer
}

export type StateWords = ReadonlyMap<string, ReceiptState>

/** Passes a report on. An unknown word is kept for the operator, and leaves the state of the message unknown. */
export const passReport = async (
  intake: SmsIntake,
  { id, token, word, error, handset, number, raw }: Report,
  words: StateWords,
  ownWords: Readonly<Record<string, ReceiptState>> = {},
): Promise<void> => {
  const own = Object.hasOwn(ownWords, word) ? ownWords[word] : undefined
  const state = own ?? words.get(word.toLowerCase())
  if (state === undefined)
    await intake.unparsed({
      reason: 'unknown_state',
      handset: handset ?? '',
      number: number ?? '',
      octets: raw.subarray(0, maxUnparsedOctets),
      fields: { state: Buffer.from(word).subarray(0, maxUnparsedField).toString('hex') },
    })
  await intake.receipt({
    carrierId: id,
    state: state ?? 'unknown',
    error,
    ...(token === undefined ? {} : { token }),
    ...(handset ? { handset } : {}),
    ...(number ? { number } : {}),
  })
}
