import type { SmtpServer } from '../../platform/lib/smtp-settings.ts'
import type { MailTransport } from '../../ports/mail.ts'

/** Loads the adapter with the first mail: it costs no memory before. */
export const openTransport = async (server: SmtpServer): Promise<MailTransport> =>
  (await import('../../adapters/smtp/smtp-transport.ts')).makeSmtpTransport(server)
