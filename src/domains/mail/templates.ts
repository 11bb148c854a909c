import { browserName, plainAddress, plainName, plainTime } from './fields.ts'

/** Changes of the security settings of a person, as a mail names them. */
const changes = {
  password_changed: 'Your password was changed.',
  password_reset: 'Your password was set by a link that was mailed to you. All sessions have ended.',
  second_factor_on: 'An authenticator app was set up as your second factor.',
  second_factor_off: 'Your second factor was removed.',
  passkey_added: 'A passkey was added.',
  passkey_removed: 'A passkey was removed.',
  recovery_codes: 'New recovery codes were made. The former ones no longer work.',
  email_proved: 'This e-mail address was confirmed.',
} as const

export type SecurityChange = keyof typeof changes

/** Values of the templates. Times are ISO 8601, and links lead to the console. `browser` is a User-Agent. */
export type MailValues = {
  invitation: {
    /** Name of the account; null for rights in the installation. */
    readonly account: string | null
    /** Name of the person who invites; null for a key or an operator. */
    readonly inviter: string | null
    readonly link: string
    readonly expires_at: string
  }
  password_reset: {
    /** One link for each person of the address; `account` tells them apart. */
    readonly links: readonly { readonly account: string | null; readonly link: string }[]
    readonly expires_at: string
  }
  prove_address: { readonly link: string; readonly expires_at: string }
  new_sign_in: { readonly at: string; readonly address: string; readonly browser: string }
  security_changed: { readonly change: SecurityChange; readonly at: string; readonly address: string }
  test: Readonly<Record<string, never>>
}

export type TemplateName = keyof MailValues

/** Fields of the texts, which have them in braces, and the links of the mail. */
type Contents = {
  readonly fields?: Readonly<Record<string, string>>
  readonly links?: readonly MailLink[]
}

/** A link with its label; `of` tells several ones apart. */
export type MailLink = { readonly label: string; readonly of?: string; readonly link: string }

export type MailTemplate<Values> = {
  readonly subject: string
  readonly text: readonly string[]
  /** After the links. */
  readonly after: readonly string[]
  /** The reason for the mail, and the advice to a recipient who did not expect it. */
  readonly reason: string
  readonly unexpected: string
  /** `refuse`: over a limit the request is refused. `drop`: the mail is left out, as the act goes on without it. */
  readonly overLimit: 'refuse' | 'drop'
  readonly contents: (values: Values) => Contents
}

const unknownSignIn =
  'If it was not you: sign in, change your password, and end all other sessions under You → Security. Then ask an owner of your account for help.'

/** The mails of the installation. Subjects hold nothing that a tenant chose. */
export const templates: { readonly [Name in TemplateName]: MailTemplate<MailValues[Name]> } = {
  invitation: {
    subject: 'Invitation to an account at {host}',
    text: ['{inviter} invites you to {what} at {host}. Open this link to accept:'],
    after: ['The link works once, until {expires_at}. By using it you confirm this e-mail address.'],
    reason: 'You get this mail because your address was entered in the invitation.',
    unexpected: 'If you do not expect it, ignore this mail. Nothing happens unless you open the link.',
    overLimit: 'refuse',
    contents: ({ account, inviter, link, expires_at }) => ({
      fields: {
        what: account === null ? 'the installation' : `the account “${plainName(account)}”`,
        inviter: inviter === null ? 'An administrator' : plainName(inviter),
        expires_at: plainTime(expires_at),
      },
      links: [{ label: 'Accept the invitation', link }],
    }),
  },
  password_reset: {
    subject: 'Your new password at {host}',
    text: ['Open this link to choose a new password:'],
    after: ['The link works once, until {expires_at}. By using it you confirm this e-mail address.'],
    reason: 'You get this mail because a new password was requested for this address.',
    unexpected: 'If it was not you, ignore this mail. Your password stays as it is.',
    overLimit: 'drop',
    contents: ({ links, expires_at }) => ({
      fields: { expires_at: plainTime(expires_at) },
      links: links.map(({ account, link }) => ({
        label: 'Choose a new password',
        ...(account === null ? {} : { of: plainName(account) }),
        link,
      })),
    }),
  },
  prove_address: {
    subject: 'Confirm your e-mail address at {host}',
    text: ['Open this link to confirm that this e-mail address is yours:'],
    after: ['The link works once, until {expires_at}.'],
    reason: 'You get this mail because a signed-in person entered this address as their own.',
    unexpected: 'If it was not you, ignore this mail. The address stays unconfirmed.',
    overLimit: 'refuse',
    contents: ({ link, expires_at }) => ({
      fields: { expires_at: plainTime(expires_at) },
      links: [{ label: 'Confirm the address', link }],
    }),
  },
  new_sign_in: {
    subject: 'New sign-in at {host}',
    text: [
      'There was a sign-in from a browser or place that was not seen before.',
      'Time: {at}',
      'Address: {address}',
      'Browser: {browser}',
    ],
    after: [],
    reason: 'You get this mail because the sign-in was with this address.',
    unexpected: unknownSignIn,
    overLimit: 'drop',
    contents: ({ at, address, browser }) => ({
      fields: { at: plainTime(at), address: plainAddress(address), browser: browserName(browser) },
    }),
  },
  security_changed: {
    subject: 'Your security settings at {host} were changed',
    text: ['{change}', 'Time: {at}', 'Address: {address}'],
    after: [],
    reason: 'You get this mail because the change concerns how you sign in.',
    unexpected: unknownSignIn,
    overLimit: 'drop',
    contents: ({ change, at, address }) => ({
      fields: { change: changes[change], at: plainTime(at), address: plainAddress(address) },
    }),
  },
  test: {
    subject: 'Test mail of {host}',
    text: ['This mail was sent to try out the settings. Mail works.'],
    after: [],
    reason: 'You get this mail because an operator of the installation entered your address.',
    unexpected: 'If you did not expect it, ignore this mail.',
    overLimit: 'refuse',
    contents: () => ({}),
  },
}
