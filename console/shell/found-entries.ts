import { useEffect, useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import type { IconName } from '../icons/names.ts'
import { paths } from '../paths.ts'
import { words } from '../words/en/shell.ts'
import { phoneNumber } from '../words/format.ts'

// Results of the search of the API in the palette: conversations, messages, notes, people, numbers, calls and events.

type Group = ReplyOf<'GET /open/search'>['groups'][number]

type FoundEntry = {
  readonly id: string
  readonly group: string
  readonly text: string
  readonly detail: string
  readonly icon: IconName
  readonly href: string
}

const icons: Readonly<Record<Group['in'], IconName>> = {
  conversations: 'inbox',
  notes: 'sticky-note',
  contacts: 'user',
  numbers: 'hash',
  texts: 'message-square',
  calls: 'phone',
  events: 'zap',
}

/** The page of a result; undefined while the console has none for it. */
const pageOf = (
  { in: kind }: Group,
  { uuid, href, conversation_uuid: conversation }: Group['results'][number],
): string | undefined => {
  if (conversation !== undefined)
    return paths.inbox({ view: 'all', conversation }, kind === 'conversations' ? {} : { item: uuid })
  if (kind === 'calls') return paths.call({ call: uuid })
  if (kind === 'texts') {
    // A message of the messaging app is found in its conversation: `/open/msgapp/message/<session>/<message>`.
    const session = /^\/open\/msgapp\/message\/([^/]+)\//.exec(href)?.[1]
    return paths.message({ message: uuid }, session === undefined ? {} : { session: decodeURIComponent(session) })
  }
  if (kind === 'numbers') return paths.number({ number: uuid })
  if (kind === 'events') return paths.event({ event: uuid })
  return kind === 'contacts' ? paths.contact({ contact: uuid }) : undefined
}

/** A title with numbers as people read them. */
const readable = (title: string): string => title.replace(/\+\d{7,15}/g, phoneNumber)

const delay = 50

/** Searches the account once typing pauses. */
export const useFound = (text: string): readonly FoundEntry[] => {
  const [query, setQuery] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text.trim()), delay)
    return () => clearTimeout(timer)
  }, [text])
  const isLongEnough = query.length >= 2 && query.length <= 200
  const found = useQuery('GET /open/search', {
    query: { q: query },
    enabled: isLongEnough && (may('read_only') || may('inbox')),
  })
  if (!isLongEnough || text.trim().length < 2) return []
  return (found.data?.groups ?? []).flatMap((group) =>
    group.results.flatMap((result) => {
      const href = pageOf(group, result)
      if (href === undefined) return []
      return [
        {
          id: `found-${result.uuid}`,
          group: words.palette.kinds[group.in],
          text: readable(result.title),
          detail: readable(result.text),
          icon: icons[group.in],
          href,
        },
      ]
    }),
  )
}
