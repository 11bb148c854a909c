import type { IncomingMessage } from 'node:http'
import type { Account, AccountKey, OperatorKey } from './auth.ts'
import type { KeyStore } from './auth-throttle.ts'
import type { Role } from './role.ts'

/** A session of a person, or of the key that it was opened with. */
export type SessionKind = 'person' | 'account-key' | 'operator-key'

/** An account that a session may act for. */
export type SessionAccount = {
  readonly account: Account
  /** Rights of the session within the account, in the form of a key. Its id is that of the key or person. */
  readonly key: AccountKey
  /** Null for a session of a key, and for an operator who is no member. */
  readonly role: Role | null
  /** Bare uuid of the person's user in the account; null for a key or an operator. */
  readonly userId: string | null
  /** Name of that user; null without one. */
  readonly userName: string | null
  /** True for an operator who entered the account without being a member. */
  readonly isOperator: boolean
  /** True for a member who lacks the second factor that the account requires. */
  readonly lacksFactor: boolean
}

/** A signed-in browser. Ids have no prefix. */
export type Session = {
  readonly id: string
  readonly kind: SessionKind
  /** Null for a session of a key. The name is the one outside of accounts. */
  readonly person: { readonly id: string; readonly email: string; readonly name: string } | null
  /** Rights in the installation; null for none. The id is that of the key or person. */
  readonly operator: OperatorKey | null
  /** Accounts of the key, or of the person's active users, oldest first. */
  readonly accounts: readonly SessionAccount[]
  /** Unix milliseconds by the machine's clock. */
  readonly provedAt: number
  readonly expiresAt: number
}

/** Effects of a change on a watched session. */
export type SessionWatcher = {
  /** The session ended: signed out, revoked, expired, or its person or key is no longer valid. */
  onEnd(): void
  /** The rights of the session changed, or the name of its person. */
  onChange(session: Session): void
}

export type Sessions = {
  /** Sessions by the token of their cookie. */
  readonly tokens: KeyStore<Session>
  /**
   * Returns the session of an upgrade request: its cookie, and an Origin that is our own.
   * @param address of the client
   * @throws Problem 401 without a valid session, 403 `csrf` for another Origin, 403 `https_required` over plain HTTP
   */
  ofUpgrade(request: IncomingMessage, address: string): Promise<Session>
  /**
   * Returns the account that a session acts for. An operator may enter any account.
   * @param printed `ACC…`; undefined: the only account of the session
   * @throws Problem 400 `account_required`, 403 `role` for an account that is not the session's, `second_factor_required`
   */
  accountOf(session: Session, printed: string | undefined): SessionAccount | Promise<SessionAccount>
  /** Returns the current state of a session from the database; null if it ended. */
  reload(id: string): Promise<Session | null>
  /**
   * Watches a session. Every process learns of a change within half a second of its commit.
   * @returns the function that ends the watch
   */
  watch(session: Session, watcher: SessionWatcher): () => void
  /** Stores when sessions were last used, and ends watched sessions that expired. */
  flush(): Promise<void>
}
