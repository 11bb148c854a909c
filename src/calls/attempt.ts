import type { VoicePlaced, VoiceReceived } from '../connectors/voice-port.ts'
import { uuid } from '../lib/id.ts'
import type { calledNumber } from '../numbers/ops.ts'
import type { Destination, Refused } from './destination.ts'
import type { NewCall } from './store.ts'
import { plain } from './story.ts'

// What is written down of an attempt to call, whatever becomes of it.

/** Strangers write Call-IDs and names of callers: how much of them is kept, in characters. */
const [longestId, longestName] = [255, 64]

/** A caller ID of the account; both of its ids without prefix. */
type CallerId = { readonly id: string; readonly virtual_number_id: string | null }

/**
 * From a browser.
 * @param found where it goes, or why it goes nowhere
 * @param callerId what the other side is shown
 */
export const placedCall = (
  { person, callId, to }: VoicePlaced,
  found: Destination | Refused,
  shown: CallerId | null,
  callerId: string,
): NewCall => {
  const nowhere = { to: plain(to, longestName), country: '', isTrunk: false, isTollFree: false, rate: '0' }
  const where = 'targets' in found ? found : nowhere
  return {
    account_id: person.account,
    id: uuid(),
    callid: plain(callId, longestId),
    direction: 'O',
    user_id: person.user,
    from_number: null,
    to_number: where.to,
    iso_country_code: where.country,
    is_msgapp: false,
    is_trunk: where.isTrunk,
    caller_id: shown?.id ?? null,
    caller_id_used: callerId,
    virtual_number_id: shown?.virtual_number_id ?? null,
    toll_free: where.isTollFree,
    rate: where.rate,
  }
}

/** From a trunk. @param called the number of an account that it is for */
export const receivedCall = (
  { callId, from, verstat, npdi, rn }: Pick<VoiceReceived, 'callId' | 'from' | 'verstat' | 'npdi' | 'rn'>,
  called: NonNullable<Awaited<ReturnType<typeof calledNumber>>>,
): NewCall => {
  const caller = plain(from, longestName)
  return {
    account_id: called.account_id,
    id: uuid(),
    callid: plain(callId, longestId),
    direction: 'I',
    user_id: null,
    from_number: caller,
    to_number: called.number,
    iso_country_code: called.iso_country_code,
    is_msgapp: false,
    is_trunk: true,
    caller_id: null,
    caller_id_used: caller,
    virtual_number_id: called.id,
    toll_free: called.type === 'tollfree',
    rate: called.ppm,
    ...{ verstat, npdi, rn },
  }
}
