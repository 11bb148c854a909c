import { computed, signal } from '@preact/signals'
import { followAccount } from '../live/socket.ts'
import { setLinkAccount } from '../paths.ts'
import { api } from './client.ts'
import { ApiError } from './errors.ts'
import { recovery, requestContext } from './send.ts'
import type { Capability, Session, SessionAccount } from './session-types.ts'

// The session: who is signed in, and what the person may do in the account of the page.

/** Null: signed out. Undefined: not known yet. */
export const session = signal<Session | null | undefined>(undefined)

/** The account of the page. */
export const account = signal<SessionAccount | null>(null)

/** The name of the person in the account of the page, as colleagues see it; undefined for a key. */
export const ownName = computed(() => account.value?.user_name || session.value?.person?.name)

/** Selects the account of the page. Requests and links use it from then on. */
export const selectAccount = (selected: SessionAccount | null): void => {
  account.value = selected
  requestContext.account = selected?.uuid ?? ''
  setLinkAccount(selected?.uuid ?? '')
}

/** Accounts that an operator entered without being a member. */
export const entered = signal<readonly SessionAccount[]>([])

const allCapabilities: readonly Capability[] = [
  'inbox',
  'inbox.all',
  'team_settings',
  'numbers',
  'read_only',
  'develop',
  'money',
  'people',
  'account',
]

/** Lets an operator act for any account: the server records the entrance and every reading of messages. */
export const enterAccount = async (uuid: string): Promise<boolean> => {
  try {
    const { account } = await api('GET /operator/accounts/:account_uuid', { params: { account_uuid: uuid } })
    entered.value = [...entered.value, { uuid, name: account.name, capabilities: [...allCapabilities] }]
    return true
  } catch {
    return false
  }
}

/** True if the person may do this in the account of the page. */
export const may = (needs: Capability | undefined): boolean =>
  needs === undefined || account.value?.capabilities.includes(needs) === true

/** True if the session acts for the installation. */
export const isOperator = (): boolean => session.value?.operator !== undefined

/** Reads the session. @throws ApiError if the server cannot be reached */
export const loadSession = async (): Promise<void> => {
  // The server saw that there is no cookie.
  if (document.documentElement.dataset.session === 'none') {
    document.documentElement.dataset.session = 'unknown'
    session.value = null
    return
  }
  try {
    session.value = await api('GET /console/session', {})
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    session.value = null
  }
}

/** Reads the session again, because its rights may have changed. A failure leaves it as it was. */
export const refreshSession = (): void => void loadSession().catch(() => {})

/** Texts of the person in this browser. The app sets it; the answer removes them. */
export const leaving = { prepare: async (): Promise<() => Promise<void>> => async () => {} }

/** Ends the session on the server and in the page. */
export const signOut = async (): Promise<void> => {
  // The server closes the line of a session that ended.
  followAccount('')
  const forget = await leaving.prepare()
  const { signIn } = recovery
  // Requests of a page that is left may be refused: they ask for no sign-in.
  recovery.signIn = () => new Promise(() => {})
  try {
    await api('DELETE /console/session', {})
  } catch (error) {
    recovery.signIn = signIn
    throw error
  }
  // The session is over in any case.
  await forget().catch(() => {})
  location.assign('/console/sign-in')
}
