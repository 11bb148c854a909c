import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useQuery } from '../api/query.ts'
import { account, ownName } from '../api/session.ts'
import { words } from '../words/en/inbox.ts'
import { fullName } from '../words/format.ts'
import type { Member, SavedView, Tag } from './inbox-types.ts'

// Colleagues, tags and saved views: few, and shown in many places. They are read once the list is there.

export const members = signal<readonly Member[]>([])
export const tags = signal<readonly Tag[]>([])
export const savedViews = signal<readonly SavedView[] | undefined>(undefined)

/** The user of the session; empty for a key. */
export const ownUser = computed(() => account.value?.user_uuid ?? '')

const isTeamRead = signal(false)

/** Names of all active users, also of those who take no conversations: read once a name is missing. */
const userNames = signal<ReadonlyMap<string, string> | undefined>(undefined)
const areUsersNeeded = signal(false)

/** True once the names of colleagues could not be read. */
const areNamesUnread = signal(false)

/** The name of a colleague; undefined for one who left. Until names are read, a sign for one. */
export const memberName = (uuid: string | undefined): string | undefined => {
  if (uuid === undefined) return undefined
  if (uuid === ownUser.value && ownName.value !== undefined) return ownName.value
  const name = members.value.find(({ user_uuid }) => user_uuid === uuid)?.name ?? userNames.value?.get(uuid)
  if (name !== undefined || userNames.value) return name
  // Not while the page is drawn.
  if (isTeamRead.value && !areUsersNeeded.value)
    queueMicrotask(() => {
      areUsersNeeded.value = true
    })
  return areNamesUnread.value ? words.list.colleague : '…'
}

/** Reads colleagues, tags and views. @param enabled false until the list is shown */
export const useTeam = (enabled: boolean, needsViews: boolean): void => {
  const team = useQuery('GET /open/team', { enabled, live: ['member'] })
  const users = useQuery('GET /open/users', { enabled: enabled && areUsersNeeded.value, live: ['member'] })
  const allTags = useQuery('GET /open/tags', { enabled })
  const views = useQuery('GET /open/views', { query: { page: 'inbox' }, enabled: enabled || needsViews })
  useEffect(() => {
    if (!team.data) return
    members.value = team.data.members
    isTeamRead.value = true
  }, [team.data])
  useEffect(() => {
    if (users.data) userNames.value = new Map(users.data.data.users.map((user) => [user.uuid, fullName(user)]))
  }, [users.data])
  const isUnread = (team.error ?? users.error) !== null
  useEffect(() => {
    areNamesUnread.value = isUnread
  }, [isUnread])
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
  isTeamRead.value = false
  userNames.value = undefined
  areUsersNeeded.value = false
  tags.value = []
  savedViews.value = undefined
}
