import type { ReplyOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { Status, type Tone } from '../parts/status.tsx'
import { words } from '../words/en/numbers.ts'

export type VirtualNumber = ReplyOf<'GET /open/voip/virtual-numbers/:virtual_number_uuid'>['number']
export type Group = ReplyOf<'GET /open/numbers/groups'>['data']['groups'][number]
export type Requirement = Group['requirements'][number]

/** Events after which numbers are read again. */
export const numberEvents = ['number']

const tones: Readonly<Record<VirtualNumber['status_text'], Tone>> = {
  ACTIVE: 'good',
  AWAITING_REGISTRATION: 'notice',
  PENDING_ACTIVATION: 'info',
  SUSPENDED: 'bad',
  PENDING_CANCELLATION: 'neutral',
  RELEASED: 'neutral',
}

export const NumberStatus = ({ number: { status_text } }: { number: VirtualNumber }) => (
  <Status tone={tones[status_text]}>{words.states[status_text]}</Status>
)

/** Directions in which a number carries texts. */
export type Texts = { readonly in: boolean; readonly out: boolean }

/** Texts of the numbers of the account, by the id of the number. */
export const useTexts = (): ReadonlyMap<string, Texts> => {
  const { data } = useQuery('GET /open/sms/channels', { query: { results_per_page: 200 }, live: numberEvents })
  return new Map(
    data?.channels
      .filter(({ enabled }) => enabled)
      .map((one) => [one.voip_number_setup_uuid, { in: one.supports_sms_in, out: one.supports_sms_out }]),
  )
}
