/** Operator settings of one XMPP connection (RFC 6120, XEP-0114). */
export type XmppSettings = {
  /**
   * `component`: one link for all numbers, as a component of the server. `client`: each number logs in to its own
   * account.
   */
  readonly mode: 'component' | 'client'
  readonly host: string
  readonly port: number
  /**
   * Default: `starttls` for clients, `none` for components (XEP-0114 has no encryption; `direct` suits a TLS proxy).
   */
  readonly encryption?: 'starttls' | 'direct' | 'none'
  /** PEM of the only trusted certificate authority. */
  readonly tls_ca?: string
  /** Name in the certificate. Default: `domain`. */
  readonly tls_server_name?: string
  /** Domain of the recipients: +447911123456 is 447911123456@domain. In client mode our own accounts are there too. */
  readonly domain: string
  /** Component mode: our own domain, and the secret shared with the server. */
  readonly component?: string
  readonly secret?: string
  /** Client mode: the password of our accounts. Without it `admin` creates the accounts, with random passwords. */
  readonly password?: string
  /**
   * Administrator that may query whether numbers exist (XEP-0133). Client mode: the local part of an account. Component
   * mode: the local part of an address under `component`.
   */
  readonly admin?: string
  readonly admin_password?: string
  /** Services for groups and files. Default: discovered through `domain` (XEP-0030). */
  readonly groups?: string
  readonly upload?: string
  /** Maximum seconds between connection attempts. Default: 60, and 2 on loopback. */
  readonly reconnect_seconds?: number
}
