import type { ReplyOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { ButtonLink } from '../parts/button.tsx'
import { type Fact, KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/states.tsx'
import { Copy, Moment, Money, NoValue, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ContactLink } from '../shell/contact-link.tsx'
import { Page } from '../shell/page.tsx'
import { words } from '../words/en/logs.ts'
import { phoneNumber, stopwatch } from '../words/format.ts'
import { FactTimeline, isSilent, type TimelineReply } from './fact-timeline.tsx'
import { RawButton } from './raw.tsx'
import { type Call, CallStatus, partiesOf } from './states.tsx'

const Party = ({ number }: { number: string }) => (number === '' ? <NoValue /> : <PhoneNumber number={number} />)

type Reply = ReplyOf<'GET /open/voip/call/:call_uuid'>

const factsOf = ({ cdr, agent }: Reply): Fact[] => {
  const { other, own } = partiesOf(cdr)
  const isInbound = cdr.direction === 'I'
  const cost = cdr.call_cost
  return [
    { name: words.call.from, value: <Party number={isInbound ? other : own} /> },
    { name: words.call.to, value: <Party number={isInbound ? own : other} /> },
    { name: words.call.direction, value: isInbound ? words.calls.inbound : words.calls.outbound },
    ...(agent ? [{ name: words.call.agent, value: <span dir="auto">{agent.full_name}</span> }] : []),
    { name: words.call.duration, value: cdr.duration === 0 ? <NoValue /> : stopwatch(cdr.duration) },
    { name: words.call.charged, value: cost.duration === 0 ? <NoValue /> : stopwatch(cost.duration) },
    {
      name: words.call.cost,
      value: cost.toll_free ? words.call.tollFree : <Money amount={String(cost.call_price)} exact />,
    },
    ...(cdr.verstat ? [{ name: words.call.verification, value: <code>{cdr.verstat}</code> }] : []),
    { name: words.calls.time, value: <Moment time={cdr.created_at} show="exact" /> },
    { name: words.call.id, value: <Copy value={cdr.uuid} what={words.call.id} /> },
    { name: words.call.callId, value: <Copy value={cdr.callid} what={words.call.callId} /> },
  ]
}

/** Measurements of each side: the facts `media` of the timeline. */
const Quality = ({ timeline: { timeline } }: { timeline: TimelineReply }) => {
  const measured = timeline.filter(({ what, text }) => what === 'media' && !isSilent(text))
  if (measured.length === 0) return <p class="soft">{words.call.noQuality}</p>
  return (
    <KeyValue
      facts={measured.map(({ leg, text }) => ({
        name: leg === undefined ? words.call.plain : words.call[leg],
        value: text,
      }))}
    />
  )
}

const Recording = ({ cdr }: { cdr: Call }) => {
  if (!cdr.recording_url) return <p class="soft">{words.call.noRecording}</p>
  // The policy permits media of this server only: the address of the link may be another name of it.
  const { pathname, search } = new URL(cdr.recording_url)
  const address = pathname + search
  return (
    <div class="stack stack-close">
      {/* biome-ignore lint/a11y/useMediaCaption: there is no text of what was said. */}
      <audio class="log-player" controls preload="none" src={address} aria-label={words.call.player} />
      <div>
        <ButtonLink icon="download" href={address} download={`${cdr.uuid}.wav`}>
          {words.call.save}
        </ButtonLink>
      </div>
    </div>
  )
}

/** A call: what happened, its legs and their sound, its recording and its cost. */
export const CallPage = ({ params: { call: uuid }, search }: PageOf<typeof paths.call>) => {
  const asked = { params: { call_uuid: uuid }, live: ['call', 'webhook.delivery'] }
  const found = useQuery('GET /open/voip/call/:call_uuid', asked)
  const timeline = useQuery('GET /open/voip/call/:call_uuid/timeline', asked)
  const error = found.error ?? timeline.error
  const call = found.data?.cdr
  const other = call && partiesOf(call).other
  const title = other ? words.call.with(phoneNumber(other)) : words.call.plain
  return (
    <Page
      key={title}
      title={title}
      lead={other && <ContactLink number={other} />}
      crumbs={[{ text: words.calls.title, href: paths.logCalls() }]}
      status={call && <CallStatus status={call.status} />}
      actions={
        found.data && (
          <RawButton
            value={{ ...found.data, ...timeline.data }}
            isOpen={search.raw !== undefined}
            opened={paths.call({ call: uuid }, { raw: '1' })}
            closed={paths.call({ call: uuid })}
          />
        )
      }
    >
      {error && !found.data ? (
        <ErrorState refusal={error} onRetry={found.refresh} />
      ) : (
        <div class="log-columns">
          <div class="stack stack-wide">
            <Section title={words.call.timeline}>
              {timeline.data ? <FactTimeline reply={timeline.data} /> : <Skeleton rows={6} />}
            </Section>
            <Section title={words.call.quality} lead={words.call.qualityHint}>
              {timeline.data ? <Quality timeline={timeline.data} /> : <Skeleton rows={2} />}
            </Section>
          </div>
          <div class="stack stack-wide">
            <Section title={words.call.facts}>
              {found.data ? <KeyValue facts={factsOf(found.data)} /> : <Skeleton rows={6} />}
              {call && (
                <div class="row">
                  {other && (
                    <a href={paths.logCalls({}, call.direction === 'I' ? { from: other } : { to: other })}>
                      {words.call.others}
                    </a>
                  )}
                  {may('money') && call.call_cost.call_price > 0 && (
                    <a href={paths.money({}, { kind: 'call' })}>{words.call.ledger}</a>
                  )}
                </div>
              )}
            </Section>
            <Section title={words.call.recording}>{call ? <Recording cdr={call} /> : <Skeleton rows={1} />}</Section>
          </div>
        </div>
      )}
    </Page>
  )
}
