import { useEffect } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { isOperator, may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { type Fact, KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Copy, Moment, Money, NoValue } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ContactLink } from '../shell/contact-link.tsx'
import { FactTimeline, isSilent, type Sides, type TimelineReply } from '../shell/fact-timeline.tsx'
import { callNumber } from '../shell/phone.ts'
import { RawButton } from '../shell/raw.tsx'
import { Page } from '../shell/section-page.tsx'
import { type Person, useUsers } from '../shell/users.ts'
import { words } from '../words/en/calls.ts'
import { phoneNumber, stopwatch } from '../words/format.ts'
import { AssertedCaller } from './asserted-caller.tsx'
import { type Call, CallStatus, partiesOf } from './call-state.tsx'
import { isNumber, otherName, Party } from './party.tsx'
import { LegQualities } from './quality.tsx'
import { Recording } from './recording.tsx'

type Reply = ReplyOf<'GET /open/voip/call/:call_uuid'>

const factsOf = ({ cdr, agent }: Reply): Fact[] => {
  const { other, own } = partiesOf(cdr)
  const isInbound = cdr.direction === 'I'
  const cost = cdr.call_cost
  const numberOf = (number: string) => (number === '' ? <NoValue /> : <Party number={number} />)
  return [
    ...(cdr.contact_name ? [{ name: words.one.contact, value: <ContactLink number={other} /> }] : []),
    { name: words.one.from, value: numberOf(isInbound ? other : own) },
    ...(isOperator() && cdr.from === 'anonymous'
      ? [{ name: words.one.asserted, value: <AssertedCaller call={cdr} /> }]
      : []),
    { name: words.one.to, value: numberOf(isInbound ? own : other) },
    { name: words.direction, value: isInbound ? words.inbound : words.outbound },
    ...(agent ? [{ name: words.user, value: <span dir="auto">{agent.full_name}</span> }] : []),
    { name: words.one.duration, value: cdr.duration === 0 ? <NoValue /> : stopwatch(cdr.duration) },
    { name: words.one.charged, value: cost.duration === 0 ? <NoValue /> : stopwatch(cost.duration) },
    {
      name: words.one.cost,
      value: cost.toll_free ? words.one.tollFree : <Money amount={String(cost.call_price)} exact />,
    },
    ...(cdr.diverted_from ? [{ name: words.one.divertedFrom, value: <Party number={cdr.diverted_from} /> }] : []),
    ...(cdr.verstat ? [{ name: words.one.verification, value: <code>{cdr.verstat}</code> }] : []),
    { name: words.time, value: <Moment time={cdr.created_at} show="exact" /> },
    { name: words.one.id, value: <Copy value={cdr.uuid} what={words.one.id} /> },
    { name: words.one.callId, value: <Copy value={cdr.callid} what={words.one.callId} /> },
  ]
}

/** The sides by the name of the contact, the user or the number. */
const sidesOf = ({ cdr, agent }: Reply, users: readonly Person[] | undefined): Sides => {
  const names = [otherName(cdr, users), agent?.full_name ?? phoneNumber(partiesOf(cdr).own)] as const
  const [caller, callee] = cdr.direction === 'I' ? names : names.toReversed()
  return { caller: words.one.caller(caller), callee: words.one.callee(callee) }
}

/** Measurements in the words of the timeline: for calls in progress, and calls of earlier versions. */
const Measured = ({ timeline: { timeline }, sides }: { timeline: TimelineReply; sides: Sides }) => {
  const measured = timeline.flatMap(({ what, leg, text }) =>
    what === 'media' && leg && !isSilent(text) ? [{ name: sides[leg], value: text }] : [],
  )
  return measured.length > 0 ? <KeyValue facts={measured} /> : <p class="soft">{words.one.noQuality}</p>
}

const Links = ({ call }: { call: Call }) => {
  const { other } = partiesOf(call)
  return (
    <div class="row">
      {isNumber(other) && <a href={paths.calls({}, { number: other })}>{words.one.others}</a>}
      {may('money') && call.call_cost.call_price > 0 && (
        <a href={paths.money({}, { kind: 'call' })}>{words.one.ledger}</a>
      )}
    </div>
  )
}

const CallBack = ({ call }: { call: Call }) => {
  const { other, own } = partiesOf(call)
  if (!may('inbox') || !isNumber(other)) return null
  return (
    <Button kind="primary" icon="phone" onClick={() => callNumber(other, { from: own })}>
      {call.direction === 'I' ? words.one.callBack : words.one.callAgain}
    </Button>
  )
}

/** Milliseconds after which what happened in a call is surely stored. */
const storedAfterMs = 2_000

/** A call: what happened, the sound of its sides, its recording and its cost. */
export const CallPage = ({ params: { call: uuid }, search }: PageOf<typeof paths.call>) => {
  const request = { params: { call_uuid: uuid }, live: ['call', 'webhook.delivery'] }
  const found = useQuery('GET /open/voip/call/:call_uuid', request)
  const call = found.data?.cdr
  // No event tells of each step of a program.
  const timeline = useQuery('GET /open/voip/call/:call_uuid/timeline', {
    ...request,
    ...(call?.active ? { every: storedAfterMs } : {}),
  })
  const { refresh } = timeline
  const end = call?.end_time
  useEffect(() => {
    if (!end || Date.now() - Date.parse(end) > 5 * storedAfterMs) return undefined
    const timer = setTimeout(refresh, storedAfterMs)
    return () => clearTimeout(timer)
  }, [end])
  const { users } = useUsers()
  const sides = found.data && sidesOf(found.data, users)
  const title = call ? words.one.with(otherName(call, users)) : words.one.plain
  const error = found.error ?? timeline.error
  return (
    <Page
      key={title}
      title={title}
      crumbs={[{ text: words.title, href: paths.calls() }]}
      status={call && <CallStatus status={call.status} />}
      actions={
        call && (
          <>
            <RawButton
              value={{ ...found.data, ...timeline.data }}
              isOpen={search.raw !== undefined}
              opened={paths.call({ call: uuid }, { ...search, raw: '1' })}
              closed={paths.call({ call: uuid }, { ...search, raw: undefined })}
            />
            <CallBack call={call} />
          </>
        )
      }
    >
      {error && !found.data ? (
        <ErrorState refusal={error} onRetry={found.refresh} />
      ) : (
        // Nothing is below what is still loading: it would move.
        <div class="call-columns">
          {call ? (
            <div class="stack stack-wide">
              <Section title={words.recording.title}>
                <Recording key={call.recording_url} call={call} search={search} />
              </Section>
              <Section title={words.one.timeline}>
                {timeline.data ? <FactTimeline reply={timeline.data} sides={sides} /> : <Skeleton rows={6} />}
              </Section>
            </div>
          ) : (
            <Skeleton rows={9} />
          )}
          {found.data && call && sides ? (
            <div class="stack stack-wide">
              <Section title={words.one.facts}>
                <KeyValue facts={factsOf(found.data)} />
                <Links call={call} />
              </Section>
              <Section title={words.one.quality} lead={words.one.qualityHint}>
                {call.quality ? (
                  <LegQualities quality={call.quality} sides={sides} />
                ) : timeline.data ? (
                  <Measured timeline={timeline.data} sides={sides} />
                ) : (
                  <Skeleton rows={2} />
                )}
              </Section>
            </div>
          ) : (
            <Skeleton rows={6} />
          )}
        </div>
      )}
    </Page>
  )
}
