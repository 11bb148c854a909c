import type { NextStep } from '../../timelines/ops.ts'

const sendAgain: NextStep = { kind: 'send_again', text: 'Send the message again.' }
const checkNumber: NextStep = { kind: 'check_number', text: 'Check the number of the recipient, then send again.' }

type Reason = { readonly text: string; readonly step: NextStep }

/** Reasons by failure code: ours, those of XMPP (RFC 6120, 8.3.3) and those of WhatsApp. */
const reasons = new Map<string, Reason>([
  ['given_up', { text: 'The network did not accept the message in time', step: sendAgain }],
  ['refused', { text: 'The network refused the message', step: checkNumber }],
  ['item-not-found', { text: 'The recipient is not on the network', step: checkNumber }],
  ['recipient-unavailable', { text: 'The recipient cannot be reached', step: sendAgain }],
  ['service-unavailable', { text: 'The recipient takes no messages', step: checkNumber }],
  ['remote-server-not-found', { text: 'The server of the recipient does not exist', step: checkNumber }],
  ['remote-server-timeout', { text: 'The server of the recipient did not answer', step: sendAgain }],
  [
    'forbidden',
    { text: 'The recipient does not accept the message', step: { kind: 'ask_consent', text: 'Ask the recipient.' } },
  ],
  [
    'not-allowed',
    { text: 'The recipient does not accept the message', step: { kind: 'ask_consent', text: 'Ask the recipient.' } },
  ],
  [
    '131047',
    {
      text: 'The recipient has not written within 24 hours',
      step: { kind: 'change_text', text: 'Send a template that the network approved.' },
    },
  ],
  ['131026', { text: 'The recipient is not on the network, or cannot receive the message', step: checkNumber }],
  [
    '131056',
    { text: 'Too many messages were sent to this recipient', step: { kind: 'send_again', text: 'Send again later.' } },
  ],
])

/** Returns the reason of a failed message. @param value the words of the network */
export const failureOf = (code: string, value: string | null): Reason =>
  reasons.get(code) ?? {
    text: value === null || value === '' ? 'The network refused the message' : value,
    step: checkNumber,
  }
