import { useEffect } from 'preact/hooks'
import { useAct, useQuery } from '../api/query.ts'
import { account } from '../api/session.ts'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { phone } from '../shell/phone.ts'
import { words } from '../words/en/phone.ts'
import { storeAway } from './phone-presence.ts'
import { act } from './tab-lock.ts'

const setAway = (isAway: boolean) => {
  storeAway(isAway)
  act({ act: 'away', isAway })
}

/** Away: no calls ring. The team sees it, and the server routes by it. */
export const Availability = () => {
  const team = useQuery('GET /open/team', { live: ['member'] })
  const own = team.data?.members.find(({ user_uuid }) => user_uuid === account.value?.user_uuid)
  const isAway = phone.value.isAway
  const change = useAct('PUT /open/me/availability', {
    stale: ['GET /open/team'],
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const known = own && own.availability === 'away'
  useEffect(() => {
    if (known !== undefined && known !== phone.value.isAway) setAway(known)
  }, [known])
  return (
    <CheckboxField
      name="away"
      label={words.dial.away}
      hint={words.dial.awayHint}
      checked={isAway}
      onChange={(next) => {
        setAway(next)
        void change({ body: { state: next ? 'away' : 'available' } })
      }}
    />
  )
}
