import { signal } from '@preact/signals'
import { setLinkAccount } from '../paths.ts'
import { requestContext, send } from './send.ts'

// The session: who is signed in, and what the person may do in the account of the page.

export type Capability =
  | 'inbox'
  | 'inbox.all'
  | 'team_settings'
  | 'numbers'
  | 'read_only'
  | 'develop'
  | 'money'
  | 'people'
  | 'account'

export type SessionAccount = {
  readonly uuid: string
  readonly name: string
  readonly role?: string
  readonly capabilities: readonly string[]
  readonly user_uuid?: string
}

export type Session = {
  readonly person?: {
    readonly uuid: string
    readonly name: string
    readonly email: string
    readonly operator?: 'operator' | 'observer'
    readonly locale?: string | null
    readonly timezone?: string | null
    readonly preferences: Readonly<Record<string, unknown>>
  }
  readonly kind: 'person' | 'account-key' | 'operator-key'
  readonly accounts: readonly SessionAccount[]
  readonly installation: {
    readonly name: string
    readonly version: string
    readonly sandbox: boolean
    readonly msgapp_name?: string | null
  }
  readonly now: string
}

/** Null: signed out. Undefined: not known yet. */
export const session = signal<Session | null | undefined>(undefined)

/** The account of the page. */
export const account = signal<SessionAccount | null>(null)

/** Selects the account of the page. Requests and links use it from then on. */
export const selectAccount = (selected: SessionAccount | null): void => {
  account.value = selected
  requestContext.account = selected?.uuid ?? ''
  setLinkAccount(selected?.uuid ?? '')
}

/** True if the person may do this in the account of the page. */
export const may = (needs: Capability | undefined): boolean =>
  needs === undefined || account.value?.capabilities.includes(needs) === true

/** True if the session acts for the installation. */
export const isOperator = (): boolean =>
  session.value?.kind === 'operator-key' || session.value?.person?.operator !== undefined

/** Reads the session. @throws ApiError if the server cannot be reached */
export const loadSession = async (): Promise<void> => {
  // The server saw that there is no cookie.
  if (document.documentElement.dataset.session === 'none') {
    document.documentElement.dataset.session = 'unknown'
    session.value = null
    return
  }
  try {
    session.value = (await send('GET /console/session', {})) as Session
  } catch (error) {
    if (!(error instanceof Error) || !('status' in error) || error.status !== 401) throw error
    session.value = null
  }
}

/** Ends the session on the server and in the page. */
export const signOut = async (): Promise<void> => {
  await send('DELETE /console/session', {})
  location.assign('/console/sign-in')
}
