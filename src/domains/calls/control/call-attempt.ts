import { uuid } from '../../../platform/lib/id.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { VoiceInboundCall, VoiceOutboundCall } from '../../../ports/voice.ts'
import { anonymousCaller } from '../../inbox/narrowing/ops.ts'
import type { calledNumber } from '../../numbers/ops.ts'
import type { CallRefusal } from '../refusals.ts'
import type { NewCall } from '../store.ts'
import type { Destination } from './destination.ts'

// CDRs of call attempts, whatever their result.

/** Maximum stored length in characters of Call-IDs and caller names, which remote systems choose. */
const [maxIdLength, maxNameLength] = [255, 64]

/** A caller ID of the account; both ids without prefix. */
type CallerId = { readonly id: string; readonly virtual_number_id: string | null }

/**
 * Makes the record of a call from a browser.
 * @param found destination, or the refusal
 * @param callerId number or name shown to the other side
 */
export const outboundCall = (
  { person, callId, to }: VoiceOutboundCall,
  found: Destination | CallRefusal,
  shown: CallerId | null,
  callerId: string,
): NewCall => {
  const nowhere = { to: storable(to, maxNameLength), country: '', isTrunk: false, isTollFree: false, rate: '0' }
  const where = 'targets' in found ? found : nowhere
  return {
    account_id: person.account,
    id: uuid(),
    callid: storable(callId, maxIdLength),
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
    origin: 'device',
  }
}

/** Makes the record of a call from a trunk. @param called the account's number that is called */
export const inboundCall = (
  {
    callId,
    from,
    asserted,
    divertedFrom,
    verstat,
    npdi,
    rn,
  }: Omit<VoiceInboundCall, 'trunk' | 'to' | 'name' | 'isFull'>,
  called: NonNullable<Awaited<ReturnType<typeof calledNumber>>>,
): NewCall => {
  const caller = storable(from ?? anonymousCaller, maxNameLength)
  const numberOf = (number: string | null) => (number === null ? null : storable(number, maxNameLength))
  return {
    account_id: called.account_id,
    id: uuid(),
    callid: storable(callId, maxIdLength),
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
    origin: 'trunk',
    ...{ verstat, npdi, rn, asserted_number: numberOf(asserted), diverted_from: numberOf(divertedFrom) },
  }
}
