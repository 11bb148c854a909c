import { api, type ReplyOf } from '../api/client.ts'
import { usePages, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import type { IconName } from '../icons/names.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Section } from '../parts/page.tsx'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { Moment } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { words as calls } from '../words/en/calls.ts'
import { words } from '../words/en/contacts.ts'
import { words as logs } from '../words/en/logs.ts'
import { words as shell } from '../words/en/shell.ts'
import { phoneNumber, stopwatch } from '../words/format.ts'
import { type Contact, numbersOf } from './contact-details.ts'
import { nextRows, type Position, type Source } from './history-pages.ts'

type Message = ReplyOf<'GET /open/sms/messages'>['messages'][number]
type Item = ReplyOf<'GET /open/conversations/:conversation_uuid/items'>['items'][number]
type Call = ReplyOf<'GET /open/voip/call-history'>['cdrs'][number]

/** One thing that happened with a contact. */
type Happening = {
  readonly uuid: string
  readonly at: string
  readonly icon: IconName
  readonly title: string
  readonly text: string
  readonly state: string
  readonly isBlocked: boolean
  /** The number of the contact; empty where the conversation does not tell. */
  readonly number: string
  /** Absent for notes, which have no page. */
  readonly href: string | undefined
}

const pageSize = 25

const ofMessage = (message: Message): Happening => {
  const isInbound = message.direction === 'inbound'
  return {
    uuid: message.uuid,
    at: message.created_at,
    icon: 'message-square',
    title: isInbound ? words.history.received : words.history.sent,
    text: message.text,
    state: isInbound ? '' : logs.statuses[message.status],
    isBlocked: message.sub_status === 'blocked',
    number: isInbound ? message.source : message.destination,
    href: paths.message({ message: message.uuid }),
  }
}

const ofCall = (call: Call): Happening => {
  const isInbound = call.direction === 'I'
  const isMissed = call.status === 'MISSED'
  return {
    uuid: call.uuid,
    at: call.created_at,
    icon: isInbound ? (isMissed ? 'phone-missed' : 'phone-incoming') : 'phone-outgoing',
    title: isInbound ? words.history.callIn : words.history.callOut,
    text: call.duration > 0 ? stopwatch(call.duration) : '',
    state: calls.statuses[call.status],
    isBlocked: call.end_reason === 'caller_blocked',
    number: isInbound ? call.from : call.to_number,
    href: paths.call({ call: call.uuid }),
  }
}

/** Messages of the messaging app, and notes. Texts and calls are read by number, with those that are in no conversation. */
const ofItem = (item: Item): Happening => {
  const { uuid, at, message, note, direction } = item
  const isInbound = direction === 'inbound'
  const content = message?.message
  return {
    uuid,
    at,
    icon: note ? 'pencil' : 'smartphone',
    title: note ? words.history.note : isInbound ? words.history.appIn : words.history.appOut,
    text: note?.text ?? content?.text ?? (content?.media ? words.history.file : ''),
    state: item.removed ? words.history.removed : '',
    isBlocked: false,
    number: message?.remote_phone_number ?? '',
    href: message && paths.message({ message: uuid }, { session: message.session_key }),
  }
}

const ofConversation = (uuid: string): Source<Happening> => ({
  name: uuid,
  load: async (cursor, signal) => {
    const request = {
      params: { conversation_uuid: uuid },
      query: { kinds: 'msgapp,note', cursor, results_per_page: pageSize },
    }
    const { items, next_cursor: next } = await api('GET /open/conversations/:conversation_uuid/items', request, {
      signal,
    })
    return { rows: items.map(ofItem), next }
  },
})

/** The lists that hold the history of a number. */
const sourcesOf = (number: string): Source<Happening>[] => {
  const calls = (query: { from_number: string } | { to_number: string }): Source<Happening>['load'] => {
    return async (cursor, signal) => {
      const request = { query: { ...query, cursor, results_per_page: pageSize } }
      const { cdrs, next_cursor: next } = await api('GET /open/voip/call-history', request, { signal })
      return { rows: cdrs.map(ofCall), next }
    }
  }
  return [
    {
      name: `sms ${number}`,
      load: async (cursor, signal) => {
        const query = { contact_number: number, cursor, results_per_page: pageSize }
        const { messages, next_cursor: next } = await api('GET /open/sms/messages', { query }, { signal })
        return { rows: messages.map(ofMessage), next }
      },
    },
    ...(may('read_only')
      ? [
          { name: `from ${number}`, load: calls({ from_number: number }) },
          { name: `to ${number}`, load: calls({ to_number: number }) },
        ]
      : []),
  ]
}

/** Ids ascend with time: their digits order things of all kinds. */
const orderOf = ({ uuid }: Happening): string => uuid.slice(3)

const Row = ({ row, several }: { row: Happening; several: boolean }) => (
  <li class="history-row">
    <span class="history-icon">
      <Icon name={row.icon} />
    </span>
    <span class="history-main">
      <span class="history-head">
        {row.href === undefined ? <span>{row.title}</span> : <a href={row.href}>{row.title}</a>}
        {several && row.number && (
          <bdi class="soft" dir="ltr">
            {phoneNumber(row.number)}
          </bdi>
        )}
        {row.isBlocked ? (
          <Status tone="notice" icon="ban">
            {words.history.blocked}
          </Status>
        ) : (
          row.state && <span class="soft">{row.state}</span>
        )}
      </span>
      {row.text && (
        <span class="history-text" dir="auto">
          {row.text}
        </span>
      )}
    </span>
    <span class="history-time">
      <Moment time={row.at} />
    </span>
  </li>
)

/** Messages and calls with all numbers of a contact, newest first. */
export const History = ({ contact }: { contact: Contact }) => {
  const numbers = numbersOf(contact)
  const found = useQuery('GET /open/contacts/:contact_uuid/conversations', {
    params: { contact_uuid: contact.uuid },
    live: ['conversation'],
  })
  const conversations = found.data?.conversations.map(({ uuid }) => uuid) ?? []
  const sources = () => [...numbers.flatMap(sourcesOf), ...conversations.map(ofConversation)]
  const pages = usePages<Happening>({
    key: ['history', numbers, conversations],
    load: (position, signal) =>
      // The position is what the page before returned.
      nextRows(sources(), orderOf, pageSize, position as Position<Happening> | undefined, signal),
    live: ['sms.message', 'call', 'msgapp.message', 'conversation'],
    enabled: numbers.length > 0 && (found.data !== undefined || found.error !== null),
  })
  const [first] = numbers
  const [newest] = conversations
  const { rows } = pages
  return (
    <Section
      title={words.history.title}
      lead={words.history.about}
      actions={
        first !== undefined && (
          <span class="row">
            {newest && <a href={paths.inbox({ view: 'all', conversation: newest })}>{words.history.conversation}</a>}
            <a href={paths.logs({}, { contact: first })}>{words.history.log}</a>
          </span>
        )
      }
    >
      {first === undefined ? (
        <Empty icon="phone-off" title={words.history.noNumber}>
          {words.history.noNumberHint}
        </Empty>
      ) : rows === undefined ? (
        pages.error ? (
          <ErrorState refusal={pages.error} onRetry={pages.refresh} />
        ) : (
          <Skeleton rows={4} />
        )
      ) : rows.length === 0 ? (
        <Empty icon="history" title={words.history.empty}>
          {words.history.emptyHint}
        </Empty>
      ) : (
        <>
          <ol class="history" aria-label={words.history.label}>
            {rows.map((row) => (
              <Row key={row.uuid} row={row} several={numbers.length > 1} />
            ))}
          </ol>
          {pages.hasMore && (
            <div class="list-more">
              <Button busy={pages.isLoadingMore} onClick={pages.more}>
                {shell.list.more}
              </Button>
            </div>
          )}
        </>
      )}
    </Section>
  )
}
