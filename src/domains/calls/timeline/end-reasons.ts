import { type NextStep, nothingToDo, type Verdict } from '../../timelines/ops.ts'
import type { CallRow } from '../store.ts'

type Reason = { readonly text: string; readonly step: NextStep }

const callAgain = (text: string): NextStep => ({ kind: 'call_again', text })
const askOperator = (what: string): NextStep => ({ kind: 'ask_operator', text: `Ask the operator ${what}.` })
const checkNumber: NextStep = { kind: 'check_number', text: 'Check the number, then call again.' }
const checkDevice: NextStep = {
  kind: 'check_device',
  text: 'Check the network and the microphone of the browser, then call again.',
}

const reason = (text: string, step: NextStep): Reason => ({ text, step })

/** Reasons of the end of a call: our own, then SIP statuses (RFC 3261, 21). */
const reasons = new Map<string, Reason>([
  ['interrupted', reason('The process that carried the call stopped', callAgain('Call again.'))],
  ['media_timeout', reason('One side sent no audio', checkDevice)],
  ['no_sdp', reason('One side answered without a description of its audio', askOperator('to check the trunk'))],
  ['balance', reason('The balance was used up', { kind: 'top_up', text: 'Add credit to the account.' })],
  ['spend_limit', reason('The daily spend limit of calls was reached', askOperator('to raise the spend limit'))],
  [
    'key_spend_limit',
    reason('The daily spend limit of the API key that made the call was reached', {
      kind: 'call_again',
      text: 'Call again tomorrow (UTC), or with a key that has a higher limit.',
    }),
  ],
  ['expired', reason('The call waited too long to be placed', callAgain('Make the call again.'))],
  ['call_queue_full', reason('Too many calls of the account waited', callAgain('Make the call again later.'))],
  [
    'program_error',
    reason('The program of the call failed', {
      kind: 'check_program',
      text: 'Find the failed request or verb above, and change the program or its address.',
    }),
  ],
  [
    'too_deep',
    reason('Too many calls were dialled one from the other', {
      kind: 'check_program',
      text: 'Change the program: it dials a number that runs it again.',
    }),
  ],
  ['time_limit', reason('The longest time of the call was over', nothingToDo)],
  ['suspended', reason('The number, its user or the account was suspended', askOperator('why it is suspended'))],
  ['operator', reason('The operator ended the call', askOperator('why the call was ended'))],
  ['code_right', reason('The verification code was right', nothingToDo)],
  ['code_wrong', reason('The verification code was wrong', callAgain('Request a new code.'))],
  ['code_timeout', reason('No verification code was entered in time', callAgain('Request a new code.'))],
  ['code_limit', reason('Too many wrong verification codes were entered', callAgain('Request a new code later.'))],
  ['code_expired', reason('The verification code had expired', callAgain('Request a new code.'))],
  [
    'too_many_attempts',
    reason('The account attempted too many calls in a minute', callAgain('Call again in a minute.')),
  ],
  ['too_many_calls', reason('The account has too many calls at once', callAgain('Call again when a call has ended.'))],
  ['user_inactive', reason('The user is not active', askOperator('to activate the user'))],
  [
    'caller_id',
    reason('The account has no caller ID for this call', { kind: 'buy_number', text: 'Buy or prove a number.' }),
  ],
  ['no_channel', reason('All channels of the trunk are in use', callAgain('Call again later.'))],
  ['no_trunk', reason('No trunk carries calls to this number', askOperator('to add a trunk for it'))],
  ['unknown_number', reason('The called number is not in use here', checkNumber)],
  ['number_suspended', reason('The called number is suspended', askOperator('why it is suspended'))],
  [
    'caller_blocked',
    reason('The caller is a blocked contact', { kind: 'unblock', text: 'Unblock the contact to get its next calls.' }),
  ],
  ['unknown_user', reason('The account has no active user of this name', checkNumber)],
  [
    'emergency',
    reason('Emergency numbers cannot be called', { kind: 'call_again', text: 'Use a telephone for emergency calls.' }),
  ],
  ['not_e164', reason('The number is not written in E.164', checkNumber)],
  ['destination_not_priced', reason('There is no price for this destination', askOperator('to set a price'))],
  ['destination_not_allowed', reason('The account may not call this destination', askOperator('to allow it'))],
  ['401', reason('The carrier asked for credentials', askOperator('to check the login of the trunk'))],
  ['403', reason('The carrier refused the call', askOperator('whether the trunk may call this destination'))],
  ['404', reason('The number does not exist', checkNumber)],
  ['407', reason('The carrier asked for credentials', askOperator('to check the login of the trunk'))],
  ['408', reason('The carrier did not answer', askOperator('to check the trunk'))],
  ['410', reason('The number is no longer in service', checkNumber)],
  ['480', reason('The other side could not be reached', callAgain('Call again later.'))],
  ['484', reason('The number is incomplete', checkNumber)],
  ['486', reason('The other side was busy', callAgain('Call again later.'))],
  ['487', reason('The call was canceled before the answer', nothingToDo)],
  ['488', reason('The two sides have no audio codec in common', askOperator('to check the codecs of the trunk'))],
  ['500', reason('The carrier had an internal error', callAgain('Call again later.'))],
  ['502', reason('The carrier could not reach the network of the other side', callAgain('Call again later.'))],
  ['503', reason('No trunk could take the call', askOperator('to check the trunks'))],
  ['504', reason('The network of the other side did not answer', callAgain('Call again later.'))],
  ['600', reason('The other side was busy', callAgain('Call again later.'))],
  ['603', reason('The other side declined the call', callAgain('Call again later.'))],
  ['604', reason('The number does not exist', checkNumber)],
])

const byStatus = new Map<string, Reason>([
  ['BUSY', reason('The other side was busy', callAgain('Call again later.'))],
  ['NO_ANSWER', reason('There was no answer', callAgain('Call again later.'))],
  ['CANCELED', reason('The caller hung up before the answer', nothingToDo)],
  ['MISSED', reason('The call was not answered', callAgain('Call back.'))],
  ['FAILED', reason('The call failed', callAgain('Call again later.'))],
])

/** Reasons of an answered call that ended otherwise than by one side hanging up. */
const cutOff = new Set([
  'interrupted',
  'media_timeout',
  'balance',
  'spend_limit',
  'key_spend_limit',
  'suspended',
  'operator',
  'program_error',
])

/** Returns how a call ended, and what helps next. */
export const callVerdict = ({ status, end_reason: code, duration }: CallRow): Verdict => {
  if (status === 'QUEUED')
    return { state: 'in_progress', text: 'The call is about to begin.', step: { kind: 'wait', text: 'Nothing to do.' } }
  if (status === 'RINGING')
    return { state: 'in_progress', text: 'The call rings.', step: { kind: 'wait', text: 'Wait for the answer.' } }
  if (status === 'ANSWERED')
    return { state: 'in_progress', text: 'The call is in progress.', step: { kind: 'wait', text: 'Nothing to do.' } }
  const known = code === null ? undefined : reasons.get(code)
  if (status === 'COMPLETED') {
    const talked = `The call was answered and lasted ${duration} s.`
    if (known && code !== null && (cutOff.has(code) || code === 'time_limit' || code.startsWith('code_')))
      return {
        state: cutOff.has(code) ? 'failed' : 'succeeded',
        code,
        text: `${talked} ${known.text}.`,
        step: known.step,
      }
    return { state: 'succeeded', text: talked, step: nothingToDo }
  }
  // Statuses other than FAILED say more than the code of the carrier.
  const found =
    (status === 'FAILED' ? known : undefined) ?? byStatus.get(status) ?? reason('The call ended', nothingToDo)
  const isOwnEnd = status === 'CANCELED'
  return { state: isOwnEnd ? 'succeeded' : 'failed', code, text: `${found.text}.`, step: found.step }
}
