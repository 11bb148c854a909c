import { useLocation } from 'preact-iso/router'
import { useAct, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { Card, type Fact, KeyValue, Section } from '../parts/page.tsx'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, Country, Moment, Money } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { useUsers } from '../shell/users.ts'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import { NumberDocuments } from './number-documents.tsx'
import { NumberSettings } from './number-settings.tsx'
import { NumberStatus, numberEvents, type Texts, useTexts, type VirtualNumber } from './number-state.tsx'
import { NumberTimeline } from './number-timeline.tsx'
import { useApplications, voiceText } from './voice.tsx'

const crumbs = () => [{ text: words.title, href: paths.numbers() }]

const textsOf = ({ status_text }: VirtualNumber, texts: Texts | undefined): string => {
  if (status_text === 'SUSPENDED') return words.one.textsOff
  if (texts?.in && texts.out) return words.one.textsOn
  if (texts?.in) return words.one.textsIn
  return texts?.out ? words.one.textsOut : words.one.textsNone
}

const Facts = ({ number }: { number: VirtualNumber }) => {
  const texts = useTexts()
  const { iso_country_code: country, region_name: place } = number
  const facts: Fact[] = [
    { name: words.number, value: <Copy value={number.phone_number} what={words.copyNumber} /> },
    {
      name: words.one.place,
      value: (
        <span class="row">
          <Country code={country} />
          {place !== format.country(country) && <span class="soft">{place}</span>}
        </span>
      ),
    },
    { name: words.type, value: words.types[number.provider_type] },
    { name: words.cost, value: <Money amount={number.monthly_price} exact /> },
    {
      name: words.one.inbound,
      value: words.each.minute(format.money(String(number.incoming_price_per_minute), { exact: true })),
    },
    { name: words.one.texts, value: textsOf(number, texts.get(number.uuid)) },
    { name: words.one.callerId, value: <a href={paths.callerIds()}>{words.one.callerIdYes}</a> },
    { name: words.one.bought, value: <Moment time={number.created_at} show="exact" /> },
    { name: words.renews, value: <Moment time={number.expires_at} show="exact" /> },
  ]
  return (
    <Card title={words.one.facts}>
      <KeyValue facts={facts} />
    </Card>
  )
}

const Release = ({ number, open }: { number: VirtualNumber; open: boolean }) => {
  const { route: go } = useLocation()
  const { uuid, formatted_phone_number: formatted } = number
  const release = useAct('DELETE /open/voip/virtual-numbers/:virtual_number_uuid', {
    stale: ['GET /open/voip/virtual-numbers'],
    after: () => {
      showToast(words.release.done(formatted))
      go(paths.numbers(), true)
    },
  })
  return (
    <Section
      title={words.release.title}
      lead={words.release.why}
      actions={
        <Button
          kind="danger"
          icon="trash-2"
          onClick={() => {
            release.reset()
            go(paths.number({ number: uuid }, { release: '1' }))
          }}
        >
          {words.release.act}
        </Button>
      }
    >
      <ConfirmDialog
        open={open}
        title={words.release.ask(formatted)}
        act={words.release.act}
        danger
        typed={formatted}
        busy={release.isPending}
        error={release.error?.message}
        onClose={() => go(paths.number({ number: uuid }), true)}
        onConfirm={() => void release({ params: { virtual_number_uuid: uuid } })}
      >
        <p>{words.release.why}</p>
      </ConfirmDialog>
    </Section>
  )
}

const Released = ({ uuid }: { uuid: string }) => (
  <>
    <Empty icon="hash" title={words.one.released} act={<ButtonLink href={paths.numbers()}>{words.title}</ButtonLink>}>
      {words.one.releasedHint}
    </Empty>
    <NumberTimeline uuid={uuid} />
  </>
)

/** One number: what it does, what its regulator requires, and what happened to it. */
export const NumberPage = ({ params: { number: uuid }, search }: PageOf<typeof paths.number>) => {
  const params = { virtual_number_uuid: uuid }
  const { data, error, refresh } = useQuery('GET /open/voip/virtual-numbers/:virtual_number_uuid', {
    params,
    live: numberEvents,
  })
  const { users } = useUsers()
  const applications = useApplications()
  // A released number has a timeline, and nothing else.
  const isGone = error?.status === 404
  const mayChange = may('numbers')
  // The documents stand above the rest: the page waits for them, so that nothing moves.
  const documents = useQuery('GET /open/voip/virtual-numbers/:virtual_number_uuid/requirements', {
    params,
    enabled: mayChange && data !== undefined,
    live: numberEvents,
  })
  const isComplete = !mayChange || documents.data !== undefined || documents.error !== null
  const past = useQuery('GET /open/voip/virtual-numbers/:virtual_number_uuid/timeline', { params, enabled: isGone })
  const number = isGone || !isComplete ? undefined : data?.number
  if (!number)
    return (
      <Page title={words.number} crumbs={crumbs()}>
        {isGone && past.data ? (
          <Released uuid={uuid} />
        ) : isGone && past.isLoading ? (
          <Skeleton />
        ) : error ? (
          <ErrorState refusal={error} onRetry={refresh} />
        ) : (
          <Skeleton rows={6} />
        )}
      </Page>
    )
  const hasName = number.friendly_name !== number.formatted_phone_number
  const { kind } = number.voice
  return (
    <Page
      title={number.formatted_phone_number}
      crumbs={crumbs()}
      status={<NumberStatus number={number} />}
      lead={
        <span class="row">
          {hasName && <span dir="auto">{number.friendly_name}</span>}
          <Status tone="neutral" icon={kind === 'user' ? 'phone-incoming' : kind === 'none' ? 'phone' : 'terminal'}>
            {kind === 'none'
              ? words.voice.noOne
              : `${kind === 'user' ? words.rings : words.voice.runs} ${voiceText(number.voice, users, applications)}`}
          </Status>
        </span>
      }
    >
      <div class="stack stack-wide">
        {mayChange && <NumberDocuments number={number} />}
        <div class="split">
          <Facts number={number} />
          {mayChange && <NumberSettings key={number.uuid} number={number} users={users} />}
        </div>
        <NumberTimeline uuid={uuid} />
        {mayChange && <Release number={number} open={search.release !== undefined} />}
      </div>
    </Page>
  )
}
