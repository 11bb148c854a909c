import { createTransport } from 'nodemailer'
import type { SmtpServer } from '../../platform/lib/smtp-settings.ts'
import { storable } from '../../platform/lib/storable.ts'
import type { MailOutcome, MailStep, MailTransport, OutgoingMail } from '../../ports/mail.ts'
import { maxReplyLength, timeouts } from './limits.ts'

/** Fields of the errors of nodemailer: its errors.ts. */
type SendError = { code?: string; command?: string; responseCode?: number; permanent?: boolean; message?: string }

const steps: ReadonlyMap<string, MailStep> = new Map([
  ['EDNS', 'name'],
  ['ETLS', 'tls'],
  ['EAUTH', 'login'],
  ['ENOAUTH', 'login'],
  ['EMESSAGE', 'message'],
])

const stepOf = ({ code = '', command = '' }: SendError): MailStep => {
  if (command.startsWith('MAIL')) return 'sender'
  if (command.startsWith('RCPT')) return 'recipient'
  if (command === 'DATA') return 'message'
  return steps.get(code) ?? 'connection'
}

/** Steps that concern one mail. A refused login or greeting is a fault of the settings: mails wait until it is mended. */
const ofMail: readonly MailStep[] = ['sender', 'recipient', 'message']

const outcomeOf = (error: SendError): MailOutcome => {
  const step = stepOf(error)
  const text = storable(String(error.message ?? error).replaceAll(/\s+/g, ' '), maxReplyLength)
  return {
    outcome: 'failed',
    step,
    isPermanent: ofMail.includes(step) && (error.responseCode ?? 0) >= 500,
    error: text,
  }
}

/** Opens a connection for each mail: mails are few, and a connection at rest would be closed by most servers. */
export const makeSmtpTransport = (server: SmtpServer): MailTransport => {
  const { host, port, tls, login, ca, name } = server
  const transportFor = (from: string) =>
    createTransport({
      ...{ host, port, ...timeouts },
      secure: tls === 'direct',
      requireTLS: tls === 'upgrade',
      ignoreTLS: tls === 'none',
      name: name ?? from.split('@')[1],
      // A password that no login takes is reported, and not left out.
      ...(login ? { auth: { user: login.user, pass: login.password }, forceAuth: true } : {}),
      tls: { minVersion: 'TLSv1.2', ...(ca === null ? {} : { ca }) },
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  return {
    send: async (mail: OutgoingMail, signal) => {
      const transport = transportFor(mail.from.address)
      try {
        const { response } = await transport.sendMail({
          from: { ...mail.from },
          to: { name: '', address: mail.to },
          messageId: mail.messageId,
          ...{ subject: mail.subject, text: mail.text, html: mail.html },
          // RFC 3834: no automatic replies to automatic mails.
          headers: { 'auto-submitted': 'auto-generated' },
          ...(signal ? { signal } : {}),
        })
        return { outcome: 'sent', reply: storable(response, maxReplyLength) }
      } catch (error) {
        // nodemailer rejects with errors that have these fields.
        return outcomeOf(error as SendError)
      } finally {
        transport.close()
      }
    },
  }
}
