import type { SmsAdvice } from '../../../ports/sms.ts'
import type { NextStep } from '../../timelines/ops.ts'
import { smsDrivers } from '../drivers.ts'

/** Why a message failed, and what helps. */
export type FailureReason = { readonly text: string; readonly step: NextStep }

const checkNumber: NextStep = {
  kind: 'check_number',
  text: 'Check the number of the recipient, then send again.',
}
const sendAgain: NextStep = { kind: 'send_again', text: 'Send the message again. It is charged as a new message.' }
const changeText: NextStep = { kind: 'change_text', text: 'Change the text, then send again.' }
const askOperator = (what: string): NextStep => ({ kind: 'ask_operator', text: `Ask the operator ${what}.` })
const otherSender: NextStep = {
  kind: 'buy_number',
  text: 'Send from another number, such as one of the country of the recipient.',
}

const reason = (text: string, step: NextStep): FailureReason => ({ text, step })

const steps: Record<SmsAdvice, NextStep> = {
  check_number: checkNumber,
  change_text: changeText,
  other_sender: otherSender,
  send_again: sendAgain,
  check_settings: askOperator('to check the settings of the connection'),
}

/** Reasons by our own error codes. */
const reasons = new Map<string, FailureReason>([
  ['no_route', reason('No carrier serves this destination', askOperator('to add a carrier for this destination'))],
  ['validity', reason('The message was not sent before its validity ended: no carrier accepted it in time', sendAgain)],
  [
    'opted_out',
    reason('The recipient answered STOP before the send time', {
      kind: 'ask_consent',
      text: 'Do not send again until the recipient answers START.',
    }),
  ],
  [
    'outcome_unknown',
    reason('The connection broke before the carrier answered: the message may have arrived', {
      kind: 'check_number',
      text: 'Ask the recipient before you send again: the message may arrive twice.',
    }),
  ],
  [
    'carrier_unreachable',
    reason('No carrier for this destination could be reached', askOperator('to check the connections to carriers')),
  ],
])

/** Reasons by the final state of a receipt, for codes that each carrier defines. */
const byStatus = new Map<string, FailureReason>([
  ['rejected', reason('The network of the recipient rejected the message', checkNumber)],
  ['undelivered', reason('The message could not be delivered to the recipient', checkNumber)],
  [
    'expired',
    reason('The telephone of the recipient could not be reached before the message expired', {
      kind: 'send_again',
      text: 'Send again later: the telephone may be switched off or without coverage.',
    }),
  ],
])

/** Finds a reason by error code: our own codes, then those of the drivers. */
const reasonOf = (code: string): FailureReason | null => {
  const own = reasons.get(code)
  if (own) return own
  for (const driver of smsDrivers.values()) {
    const found = driver.reasons.get(code)
    if (found) return reason(found.text, steps[found.advice])
  }
  return null
}

/** Returns a code in words; null for an unknown code. */
export const reasonText = (code: string): string | null => reasonOf(code)?.text ?? null

/** Returns the reason of a failed message by its status and error code. */
export const failureReasonOf = (status: string, code: string | null): FailureReason => {
  const known = code === null ? null : reasonOf(code)
  if (known) return known
  const found = byStatus.get(status) ?? reason('The message was not sent', sendAgain)
  return code === null ? found : { ...found, text: `${found.text}. The carrier reported the code ${code}` }
}
