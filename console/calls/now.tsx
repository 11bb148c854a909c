import { useEffect, useState } from 'preact/hooks'
import { useList } from '../api/query.ts'
import { Status } from '../parts/status.tsx'
import { paths } from '../paths.ts'
import { phone } from '../shell/phone.ts'
import { useUsers } from '../shell/users.ts'
import { words } from '../words/en/calls.ts'
import { phoneNumber, stopwatch } from '../words/format.ts'
import { type Call, partiesOf } from './call-state.tsx'
import { otherName } from './party.tsx'

/** Names of users by their ids, for persons who may see them. */
export const useUserNames = (): ReadonlyMap<string, string> => {
  const { users = [] } = useUsers()
  return new Map(users.map(({ uuid, name }) => [uuid, name]))
}

const useNow = (): number => {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

const Live = ({ call, now, user }: { call: Call; now: number; user: string | undefined }) => {
  const since = Date.parse(call.start_time ?? call.created_at)
  const { own } = partiesOf(call)
  const quality = phone.value.calls.find(({ uuid }) => uuid === call.uuid)?.quality
  return (
    <li class="call-now">
      <Status
        tone={call.status === 'ANSWERED' ? 'good' : 'info'}
        icon={call.direction === 'I' ? 'phone-incoming' : 'phone-outgoing'}
      >
        {call.status === 'ANSWERED' ? words.now.talking : words.now.ringing}
      </Status>
      <a class="cut" href={paths.call({ call: call.uuid })} dir="auto">
        {otherName(call)}
      </a>
      <span class="soft cut">
        {user && <bdi>{user}</bdi>} {own && <bdi dir="ltr">{phoneNumber(own)}</bdi>}
      </span>
      {quality && <span class="soft tabular">{words.one.score(quality.mos.toFixed(1))}</span>}
      <span class="tabular">{stopwatch((now - since) / 1_000)}</span>
    </li>
  )
}

/** Calls in progress, in one line: a list that grows would move the page below it. */
export const Now = () => {
  const live = ['call']
  const [ringing, talking] = (['RINGING', 'ANSWERED'] as const).map((status) =>
    useList('GET /open/voip/call-history', { query: { status }, live, every: 15_000 }),
  )
  const now = useNow()
  const users = useUserNames()
  const rows = [...(talking?.rows ?? []), ...(ringing?.rows ?? [])]
  // Times of the server may be ahead of the browser's, or moved by the sandbox.
  const latest = Math.max(now, ...rows.map(({ updated_at: at }) => Date.parse(at)))
  return (
    <section class="call-nows" aria-label={words.now.title}>
      <strong>{words.now.title}</strong>
      {rows.length === 0 ? (
        <span class="soft">{words.now.none}</span>
      ) : (
        <ul>
          {rows.map((call) => (
            <Live key={call.uuid} call={call} now={latest} user={users.get(call.agent_id ?? '')} />
          ))}
        </ul>
      )}
    </section>
  )
}
