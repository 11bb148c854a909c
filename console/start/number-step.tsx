import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { SelectField } from '../parts/choice-fields.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { ownAmong, useUsers } from '../shell/users.ts'
import { words } from '../words/en/start.ts'
import { country as countryName, money } from '../words/format.ts'
import { Request } from './request.tsx'

type Country = ReplyOf<'GET /open/numbers/countries'>['data']['countries'][number]
type Group = ReplyOf<'GET /open/numbers/groups'>['data']['groups'][number]

/** The United States ask for a region or a prefix, and do not take texts of this kind. */
const isOffered = ({ iso_country_code: code }: Country): boolean => code !== 'US'

/** The country of the browser, else Great Britain, else the first. */
const likelyCountry = (countries: readonly Country[]): string | undefined => {
  const codes = countries.map(({ iso_country_code: code }) => code)
  const own = new Intl.Locale(navigator.language).region
  return codes.find((code) => code === own) ?? codes.find((code) => code === 'GB') ?? codes[0]
}

/** The cheapest group that sends and receives texts; one without documents is preferred. */
const cheapest = (groups: readonly Group[]): Group | undefined =>
  groups
    .filter(
      ({ available_count: free, features }) => free > 0 && features.includes('sms_in') && features.includes('sms_out'),
    )
    .sort(
      (a, b) =>
        Number(a.requirements.length > 0) - Number(b.requirements.length > 0) ||
        Number(a.total_now) - Number(b.total_now),
    )[0]

/** The first number: chosen by the page, with its price. */
export const NumberStep = ({ isDone }: { isDone: boolean }) => {
  const [chosen, setChosen] = useState<string>()
  const list = useQuery('GET /open/numbers/countries', {})
  const countries = list.data?.data.countries.filter(isOffered) ?? []
  const country = chosen ?? likelyCountry(countries) ?? ''
  const mobile = useQuery('GET /open/numbers/groups', {
    query: { country, did_type: 'mobile', results_per_page: 200 },
    enabled: country !== '',
  })
  const found = cheapest(mobile.data?.data.groups ?? [])
  const all = useQuery('GET /open/numbers/groups', {
    query: { country, results_per_page: 200 },
    enabled: mobile.data !== undefined && found === undefined,
  })
  const group = found ?? cheapest(all.data?.data.groups ?? [])
  const [answer, setAnswer] = useState<unknown>()
  const { users, isRead } = useUsers()
  const [ringing, setRinging] = useState<string>()
  const rings = ringing ?? ownAmong(users ?? [])
  const buy = useAct('POST /open/numbers/purchase', {
    stale: ['GET /open/sms/channels', 'GET /open/voip/virtual-numbers'],
    after: setAnswer,
  })
  const failed = list.error ?? mobile.error ?? all.error
  if (failed && !group) return <ErrorState refusal={failed} onRetry={list.error ? list.refresh : mobile.refresh} />
  if (!list.data || !isRead || (country !== '' && !group && !all.data)) return <Skeleton rows={10} />
  const body = { group_id: group?.id ?? '', ...(rings ? { inbound_user_uuid: rings } : {}) }
  return (
    <div class="stack start-number">
      <SelectField
        name="country"
        label={words.number.country}
        value={country}
        onChange={setChosen}
        options={countries.map(({ iso_country_code: value }) => ({ value, text: countryName(value) }))}
      />
      {group ? (
        <>
          <p>
            {words.number.where(group.type, group.location || countryName(group.iso_country_code))}{' '}
            <strong>{words.number.found(money(group.total_now), money(group.price.monthly_price))}</strong>{' '}
            {group.requirements.length > 0 && words.number.needsDocuments}
          </p>
          {users && (
            <SelectField
              name="inbound_user_uuid"
              label={words.number.rings}
              hint={words.number.ringsHint}
              value={rings}
              onChange={setRinging}
              options={[
                { value: '', text: words.number.ringsNoOne },
                ...users.map(({ uuid, name }) => ({ value: uuid, text: name })),
              ]}
            />
          )}
          <Request
            label={words.number.request}
            example={{ method: 'POST', path: '/open/numbers/purchase', body, call: 'numbers.purchase', args: body }}
            act={words.number.act}
            isDone={isDone}
            reason={may('numbers') ? undefined : words.noRight}
            onRun={() => void buy({ body })}
            busy={buy.isPending}
            error={buy.error}
            answer={answer}
          />
          {isDone && <p class="soft">{words.number.again}</p>}
        </>
      ) : (
        <p>{words.number.none}</p>
      )}
    </div>
  )
}
