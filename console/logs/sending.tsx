import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { type Fact, KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Table } from '../parts/table.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, Moment, Money, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/sendings.ts'
import { number } from '../words/format.ts'
import { MessageStatus } from './message-state.tsx'
import { SendingState } from './sending-state.tsx'

type Progress = ReplyOf<'GET /open/sms/sendings/:sending_uuid'>['sending']
type Status = keyof Progress['counts']

/** Milliseconds between two looks at a sending that is under way. */
const lookEvery = 2_000

const crumbs = () => [{ text: words.title, href: paths.sendings() }]

const waitingIn = ({ counts }: Progress): number => counts.queued + counts.sending

/** The same rows at all times, so that nothing moves while a sending goes on. */
const countsOf = (sending: Progress): readonly { readonly status: Status; readonly count: number }[] => {
  const { sent, delivered, undelivered, rejected, expired, failed, unknown, canceled } = sending.counts
  return [
    { status: 'queued', count: waitingIn(sending) },
    { status: 'sent', count: sent },
    { status: 'delivered', count: delivered },
    { status: 'undelivered', count: undelivered + rejected + expired + failed + unknown },
    { status: 'canceled', count: canceled },
  ]
}

const Acts = ({ sending }: { readonly sending: Progress }) => {
  const [isOpen, setOpen] = useState(false)
  const stale = ['GET /open/sms/sendings/:sending_uuid', 'GET /open/sms/sendings'] as const
  const request = { params: { sending_uuid: sending.uuid } }
  const refused = (error: { readonly message: string }) => showToast(error.message)
  const pause = useAct('POST /open/sms/sendings/:sending_uuid/pause', {
    stale,
    after: () => showToast(words.paused),
    onError: refused,
  })
  const resume = useAct('POST /open/sms/sendings/:sending_uuid/resume', {
    stale,
    after: () => showToast(words.resumed),
    onError: refused,
  })
  const cancel = useAct('POST /open/sms/sendings/:sending_uuid/cancel', {
    stale,
    after: () => {
      showToast(words.canceled)
      setOpen(false)
    },
  })
  if (sending.state !== 'running' && sending.state !== 'paused') return null
  return (
    <>
      {sending.state === 'running' ? (
        <Button icon="pause" busy={pause.isPending} onClick={() => void pause(request)}>
          {words.pause}
        </Button>
      ) : (
        <Button kind="primary" icon="play" busy={resume.isPending} onClick={() => void resume(request)}>
          {words.resume}
        </Button>
      )}
      <Button kind="danger" icon="ban" haspopup="dialog" onClick={() => setOpen(true)}>
        {words.cancel}
      </Button>
      <ConfirmDialog
        open={isOpen}
        danger
        title={words.cancelTitle}
        act={words.cancel}
        busy={cancel.isPending}
        error={cancel.error?.message}
        onClose={() => setOpen(false)}
        onConfirm={() => void cancel(request)}
      >
        <p>{words.cancelWhy}</p>
      </ConfirmDialog>
    </>
  )
}

const factsOf = (sending: Progress): Fact[] => [
  { name: words.from, value: <PhoneNumber number={sending.from_number} /> },
  {
    name: words.text,
    value: (
      <span class="log-body" dir="auto">
        {sending.text}
      </span>
    ),
  },
  { name: words.accepted, value: <span class="tabular">{number(sending.accepted)}</span> },
  { name: words.refused, value: <span class="tabular">{number(sending.refused)}</span> },
  { name: words.price, value: <Money amount={String(sending.price)} exact /> },
  { name: words.time, value: <Moment time={sending.created_at} show="exact" /> },
  { name: words.id, value: <Copy value={sending.uuid} what={words.id} /> },
]

const Counts = ({ sending }: { readonly sending: Progress }) => {
  const done = sending.accepted - waitingIn(sending)
  return (
    <div class="stack">
      <progress class="sending-progress" aria-label={words.progress} max={sending.accepted} value={done} />
      <p class="tabular" role="status">
        {words.submitted(number(done), number(sending.accepted))}
      </p>
      <Table
        label={words.progress}
        rows={countsOf(sending)}
        rowKey={({ status }) => status}
        columns={[
          { key: 'status', title: words.state, cell: ({ status }) => <MessageStatus status={status} /> },
          { key: 'count', title: words.messages, align: 'end', narrow: true, cell: ({ count }) => number(count) },
        ]}
        empty={null}
      />
    </div>
  )
}

/** One sending: how far it is, and the acts on what is not submitted yet. */
export const SendingPage = ({ params: { sending: uuid } }: PageOf<typeof paths.sending>) => {
  const [isOver, setOver] = useState(false)
  const found = useQuery('GET /open/sms/sendings/:sending_uuid', {
    params: { sending_uuid: uuid },
    live: ['sms.message'],
    ...(isOver ? {} : { every: lookEvery }),
  })
  const sending = found.data?.sending
  const isDone = sending !== undefined && waitingIn(sending) + sending.counts.sent === 0
  if (isDone !== isOver) setOver(isDone)
  return (
    <Page
      title={words.plain}
      crumbs={crumbs()}
      status={sending && <SendingState state={sending.state} />}
      actions={<span class="sending-acts">{sending && <Acts sending={sending} />}</span>}
    >
      {found.error && !sending ? (
        <ErrorState refusal={found.error} onRetry={found.refresh} />
      ) : (
        <div class="log-columns">
          <Section title={words.progress}>{sending ? <Counts sending={sending} /> : <Skeleton rows={6} />}</Section>
          {sending && (
            <Section title={words.facts}>
              <KeyValue facts={factsOf(sending)} />
            </Section>
          )}
        </div>
      )}
    </Page>
  )
}
