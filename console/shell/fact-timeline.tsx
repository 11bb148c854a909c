import type { ReplyOf } from '../api/client.ts'
import { useAct } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Timeline, type TimelineStep, type TimelineTone } from '../parts/timeline.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/logs.ts'
import { duration } from '../words/format.ts'

export type TimelineReply = ReplyOf<'GET /open/sms/message/:message_uuid/timeline'>
type Entry = TimelineReply['timeline'][number]

/** The sides of a call, as a person knows them. */
export type Sides = Readonly<Record<NonNullable<Entry['leg']>, string>>

const tones: Readonly<Partial<Record<Entry['what'], TimelineTone>>> = {
  refused: 'bad',
  failed: 'bad',
  retried: 'notice',
  refunded: 'good',
  received: 'good',
  read: 'good',
  scheduled: 'waiting',
  recorded: 'good',
}

const detailText = (entry: Entry, name: string): string | undefined => {
  const value = entry.detail?.[name]
  return value === undefined ? undefined : String(value)
}

/** A request without an answer or with a refusal is bad, as an error is. */
const programTone = ({ what, detail: { error_code: code, answer_status: status = 0 } = {} }: Entry): TimelineTone => {
  if (code) return 'bad'
  return what === 'program_verb' || (Number(status) >= 200 && Number(status) < 300) ? 'good' : 'bad'
}

const toneOf = (entry: Entry): TimelineTone => {
  if (entry.what === 'receipt') {
    const status = detailText(entry, 'status')
    if (status === 'delivered') return 'good'
    return ['undelivered', 'rejected', 'expired'].includes(status ?? '') ? 'bad' : 'plain'
  }
  if (entry.what === 'delivered_to_webhook') {
    const status = Number(entry.detail?.response_status ?? 0)
    return status >= 200 && status < 300 ? 'good' : 'bad'
  }
  if (entry.what === 'program_request' || entry.what === 'program_verb') return programTone(entry)
  return tones[entry.what] ?? 'plain'
}

/** The additions of a fact to its sentence: a code, the event, how long a receiver took. */
const Detail = ({ entry, sides }: { entry: Entry; sides: Sides | undefined }) => {
  const [code, event, latency] = ['error_code', 'event_name', 'latency_ms'].map((name) => detailText(entry, name))
  const segments = Number(entry.detail?.segments ?? 0)
  const [url, answer, ms] = ['url', 'answer_status', 'ms'].map((name) => detailText(entry, name))
  return (
    <span class="row">
      {entry.leg && (
        <span class="soft" dir="auto">
          {sides?.[entry.leg]}
        </span>
      )}
      {segments > 0 && <span>{words.timeline.segments(segments)}</span>}
      {url && (
        <bdi dir="ltr" class="break">
          {url}
        </bdi>
      )}
      {url && <span>{answer ? words.timeline.answered(answer) : words.timeline.noAnswer}</span>}
      {ms !== undefined && <span>{(url ? words.timeline.took : words.timeline.lasted)(duration(Number(ms)))}</span>}
      {code && <code>{code}</code>}
      {event && <code>{event}</code>}
      {latency !== undefined && <span>{words.timeline.took(duration(Number(latency)))}</span>}
    </span>
  )
}

/** The time of an entry to the millisecond: the API gives whole seconds, and the milliseconds between entries. */
const momentsOf = (entries: readonly Entry[]): readonly string[] => {
  const first = Date.parse(entries[0]?.at ?? '')
  let passed = 0
  return entries.map(({ after_ms: after }) => {
    passed += after
    return new Date(first + passed).toISOString()
  })
}

/** The page behind a fact: the ledger entry of an amount, or the delivery of an event. */
const linkOf = (entry: Entry): TimelineStep['link'] => {
  const [transfer, webhook, delivery] = ['transfer_uuid', 'webhook_uuid', 'delivery_id'].map((name) =>
    detailText(entry, name),
  )
  if (transfer && may('money'))
    return { text: words.timeline.ledger, href: paths.money({}, { entry: transfer, at: entry.at }) }
  if (webhook && delivery && may('develop'))
    return { text: words.timeline.delivery, href: paths.delivery({ webhook, delivery }) }
  return undefined
}

/** The last entry of a call, such as `no_answer 480: No registered device`. */
const ending = /^([a-z_]+)(?: (\d{3}))?: (.+)$/

/** Whether a measurement says that there was nothing to measure. */
export const isSilent = (text: string): boolean => /^no codec; received 0 packets.*; sent 0 packets/.test(text)

/** The short text of the log as a sentence. */
const inWords = ({ what, detail }: Entry, text: string): string => {
  const verb = detail?.verb
  if (what === 'program_request') return verb ? words.call.resultOf(String(verb)) : words.call.programRequest
  if (what === 'program_verb') return words.call.verb(String(verb ?? ''))
  if (what === 'media' && isSilent(text)) return words.call.noSound
  const [, how, status, reason = ''] = (what === 'note' && ending.exec(text)) || []
  const [, name] = Object.entries(words.call.ends).find(([each]) => each === how) ?? []
  if (name === undefined) return text
  return `${status ? words.call.endStatus(name, status) : name}: ${reason}`
}

const stepsOf = (entries: readonly Entry[], sides: Sides | undefined): TimelineStep[] => {
  const moments = momentsOf(entries)
  return entries.map((entry, index) => {
    const [first = '', ...rest] = entry.text.split('\n')
    const hasDetail = entry.leg || entry.detail
    return {
      key: `${index} ${entry.at}`,
      time: moments[index] ?? entry.at,
      title: inWords(entry, first),
      tone: toneOf(entry),
      ...(hasDetail ? { text: <Detail entry={entry} sides={sides} /> } : {}),
      link: linkOf(entry),
      ...(rest.length > 0 ? { raw: entry.text } : {}),
    }
  })
}

const endTones = { succeeded: 'good', in_progress: 'waiting', failed: 'bad' } as const

/** Sends the last delivery that failed again. */
const Redeliver = ({ entries }: { entries: readonly Entry[] }) => {
  const redeliver = useAct('POST /open/webhooks/deliveries/:delivery_id/redeliver', {
    after: () => showToast(words.timeline.redelivered),
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const failed = entries.findLast((entry) => entry.what === 'delivered_to_webhook' && toneOf(entry) === 'bad')
  const delivery = failed && detailText(failed, 'delivery_id')
  if (!delivery || !may('develop')) return null
  return (
    <Button
      icon="refresh-cw"
      busy={redeliver.isPending}
      onClick={() => void redeliver({ params: { delivery_id: delivery } })}
    >
      {words.timeline.redeliver}
    </Button>
  )
}

type FactTimelineProps = { readonly reply: TimelineReply; readonly sides?: Sides | undefined }

/** The facts in their order, the outcome, and the next step with the act for it. */
export const FactTimeline = ({ reply: { timeline, outcome, next_step: next }, sides }: FactTimelineProps) => (
  <Timeline
    label={words.timeline.label}
    steps={stepsOf(timeline, sides)}
    end={{
      tone: endTones[outcome.state],
      title: `${words.timeline.outcomes[outcome.state]}: ${outcome.text}`,
      text: (
        <div class="stack stack-close">
          {outcome.error_code && !outcome.text.includes(outcome.error_code) && (
            <p class="soft">
              {words.timeline.code} <code>{outcome.error_code}</code>
            </p>
          )}
          {next.kind !== 'none' && (
            <p>
              <strong>{words.timeline.next}</strong> {next.text}
            </p>
          )}
        </div>
      ),
      actions: (
        <>
          {next.kind === 'check_webhook' && <Redeliver entries={timeline} />}
          {next.kind === 'top_up' && may('money') && (
            <ButtonLink href={paths.money()} icon="wallet">
              {words.timeline.topUp}
            </ButtonLink>
          )}
          {next.kind === 'check_program' && may('develop') && (
            <ButtonLink href={paths.applications()} icon="terminal">
              {words.timeline.applications}
            </ButtonLink>
          )}
          {next.kind === 'buy_number' && may('numbers') && (
            <ButtonLink href={paths.shop()} icon="hash">
              {words.timeline.shop}
            </ButtonLink>
          )}
        </>
      ),
    }}
  />
)
