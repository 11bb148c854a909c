import type { SmsAdvice } from '../../ports/sms.ts'

/** Names of statuses (SMPP 3.4, 5.1.3) in words for people. */
export const statusReasons: ReadonlyMap<string, { readonly text: string; readonly advice: SmsAdvice }> = new Map([
  ['ESME_RINVDSTADR', { text: 'The carrier does not accept the number of the recipient', advice: 'check_number' }],
  [
    'ESME_RINVDSTTON',
    { text: 'The carrier does not accept the kind of number of the recipient', advice: 'check_number' },
  ],
  [
    'ESME_RINVDSTNPI',
    { text: 'The carrier does not accept the numbering plan of the recipient', advice: 'check_number' },
  ],
  ['ESME_RINVSRCADR', { text: 'The carrier does not accept the number of the sender', advice: 'other_sender' }],
  ['ESME_RINVSRCTON', { text: 'The carrier does not accept the kind of number of the sender', advice: 'other_sender' }],
  ['ESME_RINVSRCNPI', { text: 'The carrier does not accept the numbering plan of the sender', advice: 'other_sender' }],
  ['ESME_RINVMSGLEN', { text: 'The carrier does not accept a message of this length', advice: 'change_text' }],
  ['ESME_RSUBMITFAIL', { text: 'The carrier could not process the message', advice: 'send_again' }],
  ['ESME_RSYSERR', { text: 'The carrier had an internal error', advice: 'send_again' }],
  ['ESME_RMSGQFUL', { text: 'The queue of the carrier is full', advice: 'send_again' }],
  ['ESME_RTHROTTLED', { text: 'The carrier received too many messages at once', advice: 'send_again' }],
  ['ESME_RDELIVERYFAILURE', { text: 'The carrier could not deliver the message', advice: 'check_number' }],
  ['ESME_RX_T_APPN', { text: 'The carrier had a temporary error', advice: 'send_again' }],
  ['ESME_RX_P_APPN', { text: 'The carrier refused the message for good', advice: 'check_number' }],
  ['ESME_RX_R_APPN', { text: 'The carrier refused the message', advice: 'check_number' }],
  ['ESME_RINVSCHED', { text: 'The carrier does not accept the send time', advice: 'check_settings' }],
  ['ESME_RINVEXPIRY', { text: 'The carrier does not accept the validity period', advice: 'check_settings' }],
  ['ESME_RINVESMCLASS', { text: 'The carrier does not accept this kind of message', advice: 'check_settings' }],
  ['ESME_RINVSERTYP', { text: 'The carrier does not accept the service type', advice: 'check_settings' }],
  ['ESME_RINVREGDLVFLG', { text: 'The carrier does not accept the request for receipts', advice: 'check_settings' }],
  ['ESME_RINVDCS', { text: 'The carrier does not accept the encoding of the text', advice: 'change_text' }],
  ['ESME_RINVBNDSTS', { text: 'The connection does not permit sending', advice: 'check_settings' }],
  ['ESME_RINVOPTPARSTREAM', { text: 'The carrier does not accept an optional parameter', advice: 'check_settings' }],
  ['ESME_ROPTPARNOTALLWD', { text: 'The carrier does not accept an optional parameter', advice: 'check_settings' }],
  [
    'ESME_RINVOPTPARAMVAL',
    { text: 'The carrier does not accept the value of an optional parameter', advice: 'check_settings' },
  ],
  ['ESME_RUNKNOWNERR', { text: 'The carrier refused the message without a reason', advice: 'send_again' }],
])
