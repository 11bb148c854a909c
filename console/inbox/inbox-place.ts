import { useCallback } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { paths } from '../paths.ts'
import type { Search } from './house-views.ts'

/** Where the person is in the inbox, and the addresses of other places. */
export type Place = {
  readonly view: string
  readonly conversation: string
  readonly search: Search
  /** The address of a conversation in this list; of the list alone for an empty one. */
  readonly hrefOf: (conversation: string, more?: Search) => string
  readonly openConversation: (conversation: string, more?: Search) => void
  /** Changes the search parameters of the list. */
  readonly setSearch: (change: Search, replaces?: boolean) => void
}

/** Parameters that belong to one conversation, and not to the list. */
const ofConversation = { pane: undefined, item: undefined }

export const usePlace = (view: string, conversation: string, search: Search): Place => {
  const { route: go } = useLocation()
  // One function for all conversations of a list: rows are drawn again only when it changes.
  const hrefOf = useCallback(
    (uuid: string, more: Search = {}) =>
      paths.inbox({ view, ...(uuid ? { conversation: uuid } : {}) }, { ...search, ...ofConversation, ...more }),
    [view, JSON.stringify({ ...search, ...ofConversation })],
  )
  return {
    view,
    conversation,
    search,
    hrefOf,
    // From one conversation to the next, Back leads to the list and not through all of them.
    openConversation: (uuid, more) => go(hrefOf(uuid, more), uuid !== '' && conversation !== ''),
    setSearch: (change, replaces = false) => go(hrefOf(conversation, change), replaces),
  }
}
