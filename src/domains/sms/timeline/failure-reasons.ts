import type { NextStep } from '../../timelines/ops.ts'

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

const settings = askOperator('to check the settings of the connection')

/** Reasons by error code: our own codes, then names of SMPP statuses (SMPP 3.4, 5.1.3). */
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
  ['ESME_RINVDSTADR', reason('The carrier does not accept the number of the recipient', checkNumber)],
  ['ESME_RINVDSTTON', reason('The carrier does not accept the kind of number of the recipient', checkNumber)],
  ['ESME_RINVDSTNPI', reason('The carrier does not accept the numbering plan of the recipient', checkNumber)],
  ['ESME_RINVSRCADR', reason('The carrier does not accept the number of the sender', otherSender)],
  ['ESME_RINVSRCTON', reason('The carrier does not accept the kind of number of the sender', otherSender)],
  ['ESME_RINVSRCNPI', reason('The carrier does not accept the numbering plan of the sender', otherSender)],
  ['ESME_RINVMSGLEN', reason('The carrier does not accept a message of this length', changeText)],
  ['ESME_RSUBMITFAIL', reason('The carrier could not process the message', sendAgain)],
  ['ESME_RSYSERR', reason('The carrier had an internal error', sendAgain)],
  ['ESME_RMSGQFUL', reason('The queue of the carrier is full', sendAgain)],
  ['ESME_RTHROTTLED', reason('The carrier received too many messages at once', sendAgain)],
  ['ESME_RDELIVERYFAILURE', reason('The carrier could not deliver the message', checkNumber)],
  ['ESME_RX_T_APPN', reason('The carrier had a temporary error', sendAgain)],
  ['ESME_RX_P_APPN', reason('The carrier refused the message for good', checkNumber)],
  ['ESME_RX_R_APPN', reason('The carrier refused the message', checkNumber)],
  ['ESME_RINVSCHED', reason('The carrier does not accept the send time', settings)],
  ['ESME_RINVEXPIRY', reason('The carrier does not accept the validity period', settings)],
  ['ESME_RINVESMCLASS', reason('The carrier does not accept this kind of message', settings)],
  ['ESME_RINVSERTYP', reason('The carrier does not accept the service type', settings)],
  ['ESME_RINVREGDLVFLG', reason('The carrier does not accept the request for receipts', settings)],
  ['ESME_RINVDCS', reason('The carrier does not accept the encoding of the text', changeText)],
  ['ESME_RINVBNDSTS', reason('The connection does not permit sending', settings)],
  ['ESME_RINVOPTPARSTREAM', reason('The carrier does not accept an optional parameter', settings)],
  ['ESME_ROPTPARNOTALLWD', reason('The carrier does not accept an optional parameter', settings)],
  ['ESME_RINVOPTPARAMVAL', reason('The carrier does not accept the value of an optional parameter', settings)],
  ['ESME_RUNKNOWNERR', reason('The carrier refused the message without a reason', sendAgain)],
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

/** Returns a code in words; null for an unknown code. */
export const reasonText = (code: string): string | null => reasons.get(code)?.text ?? null

/** Returns the reason of a failed message by its status and error code. */
export const failureReasonOf = (status: string, code: string | null): FailureReason => {
  const known = code === null ? undefined : reasons.get(code)
  if (known) return known
  const found = byStatus.get(status) ?? reason('The message was not sent', sendAgain)
  return code === null ? found : { ...found, text: `${found.text}. The carrier reported the code ${code}` }
}
