import { useState } from 'preact/hooks'
import { useAct, useQuery } from '../api/query.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Moment } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { callNumber } from '../shell/phone.ts'
import { words } from '../words/en/start.ts'
import { handsetNumber, type Progress } from './progress.ts'
import { Request } from './request.tsx'

type StepProps = { readonly progress: Progress; readonly from: string }

/** A text from the handset, or from the person's telephone. */
export const ReplyStep = ({ progress, from }: StepProps) => {
  const [answer, setAnswer] = useState<unknown>()
  const reply = useAct('POST /sandbox/handsets/:number/sms', {
    stale: ['GET /sandbox/handsets/:number'],
    after: setAnswer,
  })
  const { isSandbox, received } = progress
  const body = { to: from, text: words.reply.hello }
  const number = handsetNumber
  if (!isSandbox) return <p>{received ? words.reply.hintOwn : `${words.reply.hintOwn} ${words.reply.waiting}`}</p>
  return (
    <div class="stack">
      <p>{words.reply.hint}</p>
      <Request
        label={words.reply.request}
        example={{
          method: 'POST',
          path: `/sandbox/handsets/${number}/sms`,
          body,
          call: 'handsets.sendSms',
          args: { number, ...body },
          isSandbox: true,
        }}
        act={received ? words.reply.again : words.reply.act}
        isDone={received !== undefined}
        onRun={() => void reply({ params: { number }, body })}
        busy={reply.isPending}
        error={reply.error}
        answer={answer}
      />
    </div>
  )
}

/** Seconds that the handset stays in a call. */
const talkSeconds = 20

/** The first call: from the handset to the number, or from the telephone of the browser. */
export const CallStep = ({ progress, from }: StepProps) => {
  const [answer, setAnswer] = useState<unknown>()
  const ring = useAct('POST /sandbox/handsets/:number/calls', {
    stale: ['GET /sandbox/handsets/:number', 'GET /open/voip/call-history'],
    after: setAnswer,
  })
  const { isSandbox, call } = progress
  const body = { to: from, seconds: talkSeconds }
  const number = handsetNumber
  const phone = (
    <Button icon="phone" onClick={() => callNumber()}>
      {words.call.phone}
    </Button>
  )
  return (
    <div class="stack">
      <p>{isSandbox ? words.call.hint : words.call.hintOwn}</p>
      {isSandbox ? (
        <Request
          label={words.call.request}
          example={{
            method: 'POST',
            path: `/sandbox/handsets/${number}/calls`,
            body,
            call: 'handsets.call',
            args: { number, ...body },
            isSandbox: true,
          }}
          act={call ? words.call.again : words.call.act}
          isDone={call !== undefined}
          onRun={() => void ring({ params: { number }, body })}
          busy={ring.isPending}
          error={ring.error}
          answer={answer}
        >
          {phone}
        </Request>
      ) : (
        <div class="row">{phone}</div>
      )}
    </div>
  )
}

const followed = ['sms', 'msgapp', 'contact', 'call', 'number', 'balance']

/** The first event: what webhooks receive appears on the page. */
export const EventStep = ({ progress }: { progress: Progress }) => {
  const events = useQuery('GET /open/events', { query: { results_per_page: 5 }, live: followed })
  const [answer, setAnswer] = useState<unknown>()
  const trigger = useAct('POST /sandbox/events/:event_name', { stale: ['GET /open/events'], after: setAnswer })
  const event_name = 'contact.created'
  const links = (
    <>
      <ButtonLink href={paths.listen()} icon="radio">
        {words.events.all}
      </ButtonLink>
      <ButtonLink href={paths.webhooks({}, { create: '1' })} icon="webhook">
        {words.events.endpoint}
      </ButtonLink>
    </>
  )
  return (
    <div class="stack">
      <p>{words.events.hint}</p>
      {progress.isSandbox ? (
        <Request
          label={words.events.request}
          example={{
            method: 'POST',
            path: `/sandbox/events/${event_name}`,
            body: {},
            call: 'events.trigger',
            args: { event_name },
            isSandbox: true,
          }}
          act={progress.hasEvent ? words.events.again : words.events.act}
          isDone={progress.hasEvent}
          onRun={() => void trigger({ params: { event_name }, body: {} })}
          busy={trigger.isPending}
          error={trigger.error}
          answer={answer}
        >
          {links}
        </Request>
      ) : (
        <div class="row">{links}</div>
      )}
      <h2 class="start-heading">{words.events.list}</h2>
      {events.data?.events.length === 0 && <p class="soft">{words.events.none}</p>}
      <ol class="start-events" aria-label={words.events.list} aria-live="polite">
        {events.data?.events.map(({ uuid, name, at }) => (
          <li key={uuid} class="row row-apart">
            <a href={paths.event({ event: uuid })}>
              <code>{name}</code>
            </a>
            <Moment time={at} show="relative" />
          </li>
        ))}
      </ol>
    </div>
  )
}
