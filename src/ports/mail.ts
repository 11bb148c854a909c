/** A name and an address, such as the sender of mails. */
export type Mailbox = { readonly name: string; readonly address: string }

/** A mail as the transport sends it. */
export type OutgoingMail = {
  /** Stays the same at each attempt, so that mail programs recognise a duplicate. */
  readonly messageId: string
  readonly from: Mailbox
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** The step of an SMTP session that failed. */
export type MailStep = 'name' | 'connection' | 'tls' | 'login' | 'sender' | 'recipient' | 'message'

export type MailOutcome =
  /** The reply of the server. */
  | { readonly outcome: 'sent'; readonly reply: string }
  | {
      readonly outcome: 'failed'
      readonly step: MailStep
      /** The server refuses this mail for good: another attempt is useless. */
      readonly isPermanent: boolean
      readonly error: string
    }

/** Sends mails over one server. */
export type MailTransport = {
  send(mail: OutgoingMail, signal?: AbortSignal): Promise<MailOutcome>
}
