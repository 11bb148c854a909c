/** What an operator says of one XMPP connection (RFC 6120, XEP-0114). */
export type XmppSettings = {
  /** `component`: one link for all numbers, as a part of the server. `client`: each number logs in to an account of its own. */
  readonly mode: 'component' | 'client'
  readonly host: string
  readonly port: number
  /** Default `starttls` for clients, `none` for components (XEP-0114 has none; `direct` is for one behind a TLS proxy). */
  readonly encryption?: 'starttls' | 'direct' | 'none'
  /** PEM of the certificate authority that alone is believed. */
  readonly tls_ca?: string
  /** The name in the certificate, default `domain`. */
  readonly tls_server_name?: string
  /** Where the people are: the number +447911123456 is 447911123456@domain. In client mode our own accounts are there too. */
  readonly domain: string
  /** Component mode: our own address, and the secret that the server knows. */
  readonly component?: string
  readonly secret?: string
  /** Client mode: the password of our accounts. Without it accounts are made by `admin`, with passwords of chance. */
  readonly password?: string
  /** Who may ask whether numbers exist (XEP-0133): in client mode the local part of an account, in component mode the local
   *  part of an address under `component`. */
  readonly admin?: string
  readonly admin_password?: string
  /** Services for groups and for files; found by asking `domain` (XEP-0030) unless told. */
  readonly groups?: string
  readonly upload?: string
  /** The longest wait between attempts to connect, default 60, and 2 on loopback. */
  readonly reconnect_seconds?: number
}
