import { useState } from 'preact/hooks'
import { useAct, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { type Fact, KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, copyText, Moment, Money, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ContactLink } from '../shell/contact-link.tsx'
import { FactTimeline, type TimelineReply } from '../shell/fact-timeline.tsx'
import { RawButton } from '../shell/raw.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/logs.ts'
import { phoneNumber } from '../words/format.ts'
import { AppMessage } from './app-message.tsx'
import { curlOf } from './curl.ts'
import { type Message, MessageStatus, sidesOf } from './message-state.tsx'
import { SendAgain } from './send-again.tsx'

const crumbs = () => [{ text: words.title, href: may('inbox') ? paths.logs() : paths.calls() }]

const factsOf = (message: Message): Fact[] => [
  { name: words.message.fromName, value: <PhoneNumber number={message.source} /> },
  { name: words.message.toName, value: <PhoneNumber number={message.destination} /> },
  {
    name: words.message.text,
    value: (
      <span class="log-body" dir="auto">
        {message.text}
      </span>
    ),
  },
  ...(message.fragments === undefined
    ? []
    : [{ name: words.message.segments, value: <span class="tabular">{message.fragments}</span> }]),
  ...(message.price === 0
    ? []
    : [{ name: words.message.price, value: <Money amount={String(message.price)} exact /> }]),
  ...(message.send_at ? [{ name: words.message.sendAt, value: <Moment time={message.send_at} show="exact" /> }] : []),
  ...(message.sending_uuid === undefined
    ? []
    : [
        {
          name: words.message.sending,
          value: <a href={paths.sending({ sending: message.sending_uuid })}>{words.message.seeSending}</a>,
        },
      ]),
  { name: words.messages.time, value: <Moment time={message.created_at} show="exact" /> },
  { name: words.message.id, value: <Copy value={message.uuid} what={words.message.id} /> },
]

const Cancel = ({ message }: { message: Message }) => {
  const [isOpen, setOpen] = useState(false)
  const cancel = useAct('DELETE /open/sms/message/:message_uuid', {
    stale: ['GET /open/sms/message/:message_uuid', 'GET /open/sms/message/:message_uuid/timeline'],
    after: () => {
      showToast(words.message.canceled)
      setOpen(false)
    },
  })
  return (
    <>
      <Button kind="danger" icon="ban" haspopup="dialog" onClick={() => setOpen(true)}>
        {words.message.cancel}
      </Button>
      <ConfirmDialog
        open={isOpen}
        danger
        title={words.message.cancelTitle}
        act={words.message.cancel}
        busy={cancel.isPending}
        error={cancel.error?.message}
        onClose={() => setOpen(false)}
        onConfirm={() => void cancel({ params: { message_uuid: message.uuid } })}
      >
        <p>{words.message.cancelWhy}</p>
      </ConfirmDialog>
    </>
  )
}

type ActsProps = {
  readonly message: Message
  readonly timeline: TimelineReply | undefined
  readonly search: PageOf<typeof paths.message>['search']
}

const Acts = ({ message, timeline, search }: ActsProps) => {
  const here = { message: message.uuid }
  const isOutbound = message.direction === 'outbound'
  const copy = async () => {
    await copyText(curlOf(message, location.origin))
    showToast(words.message.curlCopied)
  }
  return (
    <>
      {isOutbound && message.status === 'scheduled' && <Cancel message={message} />}
      {isOutbound && (
        <SendAgain
          message={message}
          isOpen={search.again !== undefined}
          isMain={['send_again', 'check_number'].includes(timeline?.next_step.kind ?? '')}
        />
      )}
      <Button icon="terminal" onClick={() => void copy()}>
        {words.message.copyCurl}
      </Button>
      <RawButton
        value={{ message, ...timeline }}
        isOpen={search.raw !== undefined}
        opened={paths.message(here, { raw: '1' })}
        closed={paths.message(here)}
      />
    </>
  )
}

const SmsPage = ({ params: { message: uuid }, search }: PageOf<typeof paths.message>) => {
  const request = { params: { message_uuid: uuid } }
  const live = ['sms.message', 'webhook.delivery']
  const found = useQuery('GET /open/sms/message/:message_uuid', { ...request, live, enabled: may('inbox') })
  const timeline = useQuery('GET /open/sms/message/:message_uuid/timeline', { ...request, live })
  const message = found.data?.message
  const error = timeline.error ?? found.error
  const contact = message && sidesOf(message).contact
  const title =
    message === undefined
      ? words.message.plain
      : (message.direction === 'inbound' ? words.message.from : words.message.to)(phoneNumber(contact ?? ''))
  return (
    <Page
      key={title}
      title={title}
      lead={contact && <ContactLink number={contact} />}
      crumbs={crumbs()}
      status={message && <MessageStatus status={message.status} />}
      actions={message && <Acts message={message} timeline={timeline.data} search={search} />}
    >
      {error && !timeline.data ? (
        <ErrorState refusal={error} onRetry={timeline.refresh} />
      ) : (
        <div class="log-columns">
          <Section title={words.message.timeline}>
            {timeline.data ? <FactTimeline reply={timeline.data} /> : <Skeleton rows={6} />}
          </Section>
          <Section title={words.message.facts}>
            {message ? (
              <>
                <KeyValue facts={factsOf(message)} />
                <div class="row">
                  <a href={paths.logs({}, { contact })}>{words.message.others}</a>
                  {timeline.data?.outcome.state === 'failed' && (
                    <a href={paths.logs({}, { contact, status: message.status })}>{words.message.failures}</a>
                  )}
                </div>
              </>
            ) : may('inbox') ? (
              <Skeleton rows={5} />
            ) : (
              <p class="soft">{words.message.noText}</p>
            )}
          </Section>
        </div>
      )}
    </Page>
  )
}

/** A message and its timeline: a text, or a message of the messaging app. */
export const MessagePage = (props: PageOf<typeof paths.message>) =>
  props.params.message.startsWith('MSG') ? <AppMessage {...props} /> : <SmsPage {...props} />
