import { useRef, useState } from 'preact/hooks'
import { useAct } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Handset } from '../parts/handset.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { type Step, Steps } from '../parts/steps.tsx'
import { type PageOf, paths } from '../paths.ts'
import { hideStart, isStartHidden } from '../shell/choices.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/start.ts'
import { phoneNumber } from '../words/format.ts'
import { NumberStep } from './number-step.tsx'
import { CallStep, EventStep, ReplyStep } from './other-steps.tsx'
import { handsetNumber, type Progress, useProgress } from './progress.ts'
import { TextStep } from './text-step.tsx'

const isInLog = (handset: Progress['handset'], way: 'inbound' | 'outbound'): boolean =>
  handset?.sms.some(({ direction }) => direction === way) === true

/** Steps that are done, in the order of the page. */
const doneSteps = ({ channel, sent, received, call, hasEvent, isSandbox, handset }: Progress) => ({
  number: channel !== undefined,
  // A real carrier may send no receipt. Without the right to read texts, those of the handset are shown still.
  text:
    sent.some(({ status }) => status === 'delivered' || (!isSandbox && status === 'sent')) ||
    (!may('inbox') && isInLog(handset, 'inbound')),
  reply: received !== undefined || (!may('inbox') && isInLog(handset, 'outbound')),
  call: call !== undefined,
  events: hasEvent,
})

type Name = keyof ReturnType<typeof doneSteps>

const stepsOf = (progress: Progress): readonly Omit<Step, 'state'>[] => {
  const { channel, isSandbox, received, call } = progress
  const from = channel?.phone_number ?? ''
  const done = doneSteps(progress)
  const delivered = progress.sent.find(({ status }) => status === 'delivered') ?? progress.sent[0]
  const caller = call?.direction === 'I' ? call.from : call?.caller_id_used
  return [
    {
      key: 'number',
      title: words.number.title,
      summary: done.number ? words.number.done(phoneNumber(from)) : words.number.open,
      children: <NumberStep isDone={done.number} />,
    },
    {
      key: 'text',
      title: words.text.title,
      summary:
        done.text && delivered
          ? words.text.done(phoneNumber(delivered.destination))
          : !channel
            ? words.text.first
            : isSandbox
              ? words.text.open
              : words.text.openOwn,
      children: channel && <TextStep progress={progress} from={from} />,
    },
    {
      key: 'reply',
      title: words.reply.title,
      summary: received
        ? words.reply.done(received.text)
        : !channel
          ? words.text.first
          : isSandbox
            ? words.reply.open
            : words.reply.openOwn(phoneNumber(from)),
      children: channel && <ReplyStep progress={progress} from={from} />,
    },
    {
      key: 'call',
      title: words.call.title,
      summary: call
        ? words.call.done(phoneNumber(caller ?? ''), phoneNumber(call.to_number))
        : !channel
          ? words.text.first
          : isSandbox
            ? words.call.open
            : words.call.openOwn,
      children: channel && <CallStep progress={progress} from={from} />,
    },
    {
      key: 'events',
      title: words.events.title,
      summary: done.events ? words.events.done : words.events.open,
      children: <EventStep progress={progress} />,
    },
  ]
}

/** The telephone of the sandbox, with what it really received. */
const Telephone = ({ progress, from }: { progress: Progress; from: string | undefined }) => {
  const write = useAct('POST /sandbox/handsets/:number/sms', { stale: ['GET /sandbox/handsets/:number'] })
  const { sms = [], calls = [] } = progress.handset ?? {}
  const call = calls.findLast(({ ended_at }) => ended_at === undefined)
  return (
    <aside class="start-telephone" aria-label={words.handset.note}>
      <Handset
        number={handsetNumber}
        empty={words.handset.empty}
        messages={sms.map(({ direction, text, at, peer, uuid }, index) => ({
          id: uuid ?? String(index),
          direction: direction === 'inbound' ? 'in' : 'out',
          text,
          time: at,
          with: peer,
        }))}
        busy={write.isPending}
        {...(from
          ? { onSend: (text: string) => void write({ params: { number: handsetNumber }, body: { to: from, text } }) }
          : {})}
        call={call && words.handset.call(words.handset.calling[call.state])}
      />
      {write.error && <Banner tone="bad">{write.error.message}</Banner>}
      <p class="soft">{words.handset.note}</p>
    </aside>
  )
}

const Content = ({ progress }: { progress: Progress }) => {
  const done = doneSteps(progress)
  const names = Object.keys(done) as Name[] // of the object above
  const next = names.find((name) => !done[name])
  // The step that was done last stays open: its answer is being read.
  const steps = useRef<{ next: Name | undefined; last: Name | undefined }>({ next, last: undefined })
  if (steps.current.next !== next) steps.current = { next, last: steps.current.next }
  const [isHidden, setHidden] = useState(isStartHidden)
  const hide = () => {
    hideStart()
    setHidden(true)
  }
  return (
    <div class={progress.isSandbox ? 'start-columns' : ''}>
      <div class="stack">
        {next === undefined && (
          <Banner
            tone="good"
            title={words.allDone}
            actions={
              <>
                {!isHidden && <Button onClick={hide}>{words.hide}</Button>}
                <ButtonLink href={paths.developers()}>{words.toDevelopers}</ButtonLink>
              </>
            }
          >
            {isHidden ? words.hidden : words.allDoneHint}
          </Banner>
        )}
        <p class="soft">
          {words.progress(names.filter((name) => done[name]).length, names.length)}. {words.keyNote}{' '}
          <a href={paths.keys({}, { create: '1' })}>{words.makeKey}</a>
        </p>
        <Steps
          label={words.steps}
          steps={stepsOf(progress).map((step) => ({
            ...step,
            state: done[step.key as Name] ? 'done' : step.key === next ? 'current' : 'open',
            isOpen: step.key === steps.current.last,
          }))}
        />
      </div>
      {progress.isSandbox && <Telephone progress={progress} from={progress.channel?.phone_number} />}
    </div>
  )
}

/** From an empty account to the first number, text, call and event, on one page. */
export const StartPage = (_: PageOf<typeof paths.start>) => {
  const progress = useProgress()
  return (
    <Page title={words.title} lead={words.lead} width="full">
      {progress.failed?.error ? (
        <ErrorState refusal={progress.failed.error} onRetry={progress.failed.refresh} />
      ) : progress.isLoading ? (
        <Skeleton rows={5} shape="card" />
      ) : (
        <Content progress={progress} />
      )}
    </Page>
  )
}
