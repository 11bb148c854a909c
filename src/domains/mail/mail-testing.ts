import { makeWorld, type World } from '../../../test/world.ts'
import { type NewMail, queueMail } from './ops.ts'

// Helpers for the tests of mail.

export const sender = 'Bücher Ltd <no-reply@example.com>'

export const link = 'http://127.0.0.1:8080/console#invitation=abc&x=1'

/** An installation that sends over a server on loopback. Without a worker, mails stay queued. */
export const makeMailWorld = (port: number): Promise<World> =>
  makeWorld({
    TRUNKLINE_SANDBOX: 'true',
    TRUNKLINE_SMTP_URL: `smtp://127.0.0.1:${port}`,
    TRUNKLINE_MAIL_FROM: sender,
  })

/** @param changed values of the template */
export const invitation = (to: string, account: string | null = null, changed: object = {}): NewMail => ({
  ...{ to, account },
  template: 'invitation',
  values: {
    ...{ account: 'Acme', inviter: 'Grace', link },
    expires_at: new Date(Date.now() + 7 * 86_400_000).toISOString(),
    ...changed,
  },
})

export const queue = ({ db, parts }: World, mail: NewMail): Promise<string | null> =>
  db.begin((tx) => queueMail(tx, parts, mail))

/** Returns the newest mail to an address in the operator's list. */
export const listed = async (world: World, to: string) => {
  const { body } = await world.call('operator', 'GET', `/operator/mails?to=${encodeURIComponent(to)}`)
  return body.mails[0]
}
