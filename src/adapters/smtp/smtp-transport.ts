import { createTransport } from 'nodemailer'
import type { SmtpServer } from '../../platform/lib/smtp-settings.ts'
import { storable } from '../../platform/lib/storable.ts'
import type { MailOutcome, MailStep, MailTransport } from '../../ports/mail.ts'
import { maxReplyLength, sessionMs, timeouts } from './limits.ts'

/** Fields of the errors of nodemailer: its errors.ts. */
type SendError = { code?: string; originalCode?: string; command?: string; responseCode?: number; message?: string }

const steps: ReadonlyMap<string, MailStep> = new Map([
  ['EDNS', 'name'],
  ['ETLS', 'tls'],
  ['EAUTH', 'login'],
  ['ENOAUTH', 'login'],
  ['EMESSAGE', 'message'],
])

/** Codes of Node and OpenSSL for certificates that are not trusted, and for a peer that speaks no TLS. */
const tlsCodes = /CERT|SSL|TLS|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO/

const stepOf = ({ code = '', originalCode = '', command = '', responseCode, message = '' }: SendError): MailStep => {
  // RFC 4954, 6, and RFC 3207, 4: the server wants a login or TLS first.
  if (responseCode === 530) return message.includes('TLS') ? 'tls' : 'login'
  if (command.startsWith('MAIL')) return 'sender'
  if (command.startsWith('RCPT')) return 'recipient'
  if (command === 'DATA') return 'message'
  return tlsCodes.test(originalCode) ? 'tls' : (steps.get(code) ?? 'connection')
}

/** Steps that concern one mail. A refused greeting or login is a fault of the settings: mails wait until it is mended. */
const ofMail: readonly MailStep[] = ['sender', 'recipient', 'message']

const oneLine = (text: string): string => storable(text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim(), maxReplyLength)

/**
 * Sends mails over a server. Each mail has a connection of its own: mails are few, and servers close idle connections.
 * @param limits in milliseconds, for tests
 */
export const makeSmtpTransport = (
  { host, port, tls, login, ca, name }: SmtpServer,
  limits: Partial<typeof timeouts & { sessionMs: number }> = {},
): MailTransport => {
  const { sessionMs: wholeMs = sessionMs, ...waits } = limits

  const failure = (error: SendError, isOver: boolean): MailOutcome => {
    const step = stepOf(error)
    const said = isOver
      ? `The server has not taken the mail within ${wholeMs / 1_000} s`
      : String(error.message ?? error)
    // A server may repeat what it was sent.
    const text = login ? said.replaceAll(login.password, '•••') : said
    const isPermanent = ofMail.includes(step) && (error.responseCode ?? 0) >= 500
    return { outcome: 'failed', step, isPermanent, error: oneLine(text) }
  }

  return {
    send: async ({ messageId, from, to, subject, text, html }, signal) => {
      const timeout = AbortSignal.timeout(wholeMs)
      const transport = createTransport({
        ...{ host, port, ...timeouts, ...waits },
        secure: tls === 'direct',
        requireTLS: tls === 'upgrade',
        ignoreTLS: tls === 'none',
        name: name ?? from.address.split('@')[1],
        // A server that offers no login gets the password refused, instead of the mail without one.
        ...(login ? { auth: { user: login.user, pass: login.password }, forceAuth: true } : {}),
        tls: { minVersion: 'TLSv1.2', ...(ca === null ? {} : { ca }) },
        disableFileAccess: true,
        disableUrlAccess: true,
      })
      try {
        const { response } = await transport.sendMail({
          ...{ messageId, from: { ...from }, to: { name: '', address: to }, subject, text, html },
          // RFC 3834: no automatic replies to automatic mails.
          headers: { 'auto-submitted': 'auto-generated' },
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        })
        return { outcome: 'sent', reply: oneLine(response) }
      } catch (error) {
        // nodemailer rejects with errors that have these fields.
        return failure(error as SendError, timeout.aborted)
      } finally {
        transport.close()
      }
    },
  }
}
