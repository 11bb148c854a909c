import { useQuery } from '../api/query.ts'
import { account, may } from '../api/session.ts'
import { fullName } from '../words/format.ts'

export type Person = { readonly uuid: string; readonly name: string }

/** The active users of the account, for those who may list them. `isRead`: there is nothing to wait for. */
export const useUsers = (): { readonly users: readonly Person[] | undefined; readonly isRead: boolean } => {
  const { data, error } = useQuery('GET /open/users', { enabled: may('inbox'), live: ['member'] })
  const users = data?.data.users.map((user) => ({ uuid: user.uuid, name: fullName(user) }))
  return { users, isRead: !may('inbox') || users !== undefined || error !== null }
}

/** The person of the page among users; empty for none, such as a key or an operator who entered the account. */
export const ownAmong = (users: readonly Person[]): string =>
  users.find(({ uuid }) => uuid === account.value?.user_uuid)?.uuid ?? ''
