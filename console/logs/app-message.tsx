import type { ReplyOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { type Fact, KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Copy, Moment, NoValue, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { FactTimeline } from '../shell/fact-timeline.tsx'
import { RawButton } from '../shell/raw.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/logs.ts'
import { phoneNumber } from '../words/format.ts'

type Message = ReplyOf<'GET /open/msgapp/message/:session_key/:message_uuid'>['message']

const Party = ({ number }: { number: string | undefined }) => (number ? <PhoneNumber number={number} /> : <NoValue />)

const factsOf = (message: Message): Fact[] => {
  const { channel_phone_number: own, remote_phone_number: remote, is_from_chatter: isInbound } = message
  const { text, media } = message.message
  return [
    { name: words.message.fromName, value: <Party number={isInbound ? remote : own} /> },
    { name: words.message.toName, value: <Party number={isInbound ? own : remote} /> },
    {
      name: words.message.text,
      value: text ? (
        <span class="log-body" dir="auto">
          {text}
        </span>
      ) : (
        <NoValue />
      ),
    },
    ...(media ? [{ name: words.message.attachment, value: media.name ?? media.mime_type }] : []),
    { name: words.messages.time, value: <Moment time={message.created_at} show="exact" /> },
    { name: words.message.id, value: <Copy value={message.uuid} what={words.message.id} /> },
  ]
}

/** A message of the messaging app and its timeline. Its conversation is in the address. */
export const AppMessage = ({ params: { message: uuid }, search }: PageOf<typeof paths.message>) => {
  const request = { params: { session_key: search.session ?? '', message_uuid: uuid } }
  const live = ['msgapp.message', 'webhook.delivery']
  const found = useQuery('GET /open/msgapp/message/:session_key/:message_uuid', {
    ...request,
    live,
    enabled: may('inbox'),
  })
  const timeline = useQuery('GET /open/msgapp/message/:session_key/:message_uuid/timeline', { ...request, live })
  const message = found.data?.message
  const error = timeline.error ?? found.error
  const remote = message?.remote_phone_number
  const title = remote
    ? (message.is_from_chatter ? words.message.from : words.message.to)(phoneNumber(remote))
    : words.message.plain
  return (
    <Page
      key={title}
      title={title}
      crumbs={[{ text: words.title, href: may('inbox') ? paths.logs() : paths.calls() }]}
      actions={
        timeline.data && (
          <RawButton
            value={{ message, ...timeline.data }}
            isOpen={search.raw !== undefined}
            opened={paths.message({ message: uuid }, { session: search.session, raw: '1' })}
            closed={paths.message({ message: uuid }, { session: search.session })}
          />
        )
      }
    >
      {error && !timeline.data ? (
        <ErrorState refusal={error} onRetry={timeline.refresh} />
      ) : (
        <div class="log-columns">
          <Section title={words.message.timeline}>
            {timeline.data ? <FactTimeline reply={timeline.data} /> : <Skeleton rows={6} />}
          </Section>
          <Section title={words.message.facts}>
            {message ? <KeyValue facts={factsOf(message)} /> : <p class="soft">{words.message.noText}</p>}
          </Section>
        </div>
      )}
    </Page>
  )
}
