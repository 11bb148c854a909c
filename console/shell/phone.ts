import { signal } from '@preact/signals'
import { otherAddress } from '../api/public-address.ts'
import { account, may, session } from '../api/session.ts'
import { expectField } from './expected-field.ts'
import { noPhone, type PhoneState } from './phone-state.ts'

// The telephone, as far as every page knows it: its state, and the request to call. console/phone runs it.

/** The state of the telephone, in whichever tab it runs. */
export const phone = signal<PhoneState>(noPhone)

/** False during a call that began before the page came to another account: the call belongs to the former one. */
export const isOfAccount = (): boolean => phone.value.account === account.value?.uuid

type DialRequest = { readonly number: string; readonly from?: string }

/** The first contents of the dialog of the telephone; null while it is closed. */
export const dialRequest = signal<DialRequest | null>(null)

/**
 * Opens the telephone with a number. The person sees the price and the time there, and calls with Enter.
 * @param number E.164; empty to type one
 * @param from the caller ID to show. Default: the last one
 */
export const callNumber = (number = '', { from }: { readonly from?: string } = {}): void => {
  if (dialRequest.peek() === null) expectField()
  dialRequest.value = { number, ...(from === undefined ? {} : { from }) }
}

/** Why the session has no telephone; null if it has one. */
export const phoneBarrier = (): 'key' | 'role' | 'visitor' | 'elsewhere' | 'insecure' | null => {
  if (session.value?.kind !== 'person') return 'key'
  if (!may('inbox')) return 'role'
  if (account.value?.user_uuid === undefined) return 'visitor'
  // The policy of the page permits no connection to another address.
  if (otherAddress() !== null) return 'elsewhere'
  return isSecureContext ? null : 'insecure'
}
