import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useQuery } from '../api/query.ts'
import { account, session } from '../api/session.ts'
import type { Member, SavedView, Tag } from './inbox-types.ts'

// Colleagues, tags and saved views: few, and shown in many places. They are read once the list is there.

export const members = signal<readonly Member[]>([])
export const tags = signal<readonly Tag[]>([])
export const savedViews = signal<readonly SavedView[] | undefined>(undefined)

/** The user of the session; empty for a key. */
export const ownUser = computed(() => account.value?.user_uuid ?? '')

/** The name of a colleague; undefined for one who left. */
export const memberName = (uuid: string | undefined): string | undefined =>
  uuid === ownUser.value && session.value?.person
    ? session.value.person.name
    : members.value.find(({ user_uuid }) => user_uuid === uuid)?.name

/** Reads colleagues, tags and views. @param enabled false until the list is shown */
export const useTeam = (enabled: boolean, needsViews: boolean): void => {
  const team = useQuery('GET /open/team', { enabled, live: ['member'] })
  const allTags = useQuery('GET /open/tags', { enabled })
  const views = useQuery('GET /open/views', { query: { page: 'inbox' }, enabled: enabled || needsViews })
  useEffect(() => {
    if (team.data) members.value = team.data.members
  }, [team.data])
  useEffect(() => {
    if (allTags.data) tags.value = allTags.data.tags
  }, [allTags.data])
  useEffect(() => {
    if (views.data) savedViews.value = views.data.views
    else if (views.error) savedViews.value = []
  }, [views.data, views.error])
}

/** Forgets everything: another account, or another person. */
export const forgetTeam = (): void => {
  members.value = []
  tags.value = []
  savedViews.value = undefined
}
