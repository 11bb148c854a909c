import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useQuery } from '../api/query.ts'
import { useCounts } from '../live/presence.ts'
import { ownUser, savedViews } from './team-members.ts'

type Counts = Readonly<Record<string, { readonly n: number; readonly more: boolean }>>

/** Conversations by the name of a list, or the id of a saved view. */
export const counts = signal<Counts | null>(null)

/** Reads the counts once, and follows those that the line brings. */
export const useLiveCounts = (enabled: boolean): void => {
  const views = (savedViews.value ?? []).map(({ uuid }) => uuid)
  const usual = ['open', 'mine', 'unassigned', 'waiting', 'snoozed', ...(ownUser.value ? ['mentions'] : [])]
  const read = useQuery('GET /open/conversations/counts', {
    query: { views: [...usual, ...views].slice(0, 50).join() },
    enabled: enabled && savedViews.value !== undefined,
    // The line does not count mentions.
    live: ['conversation.note.created'],
  })
  const live = useCounts()
  useEffect(() => {
    if (read.data) counts.value = { ...counts.value, ...read.data.counts }
  }, [read.data])
  useEffect(() => {
    if (live) counts.value = { ...counts.value, ...live }
  }, [live])
}

/** Forgets the counts of another account. */
export const forgetCounts = (): void => {
  counts.value = null
}
