import { namesOf } from '../../platform/http/role.ts'
import type { Session } from '../../platform/http/session.ts'
import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { relyingPartyOf } from './passkeys/relying-party.ts'
import type { ListedPersonRow, PersonRow } from './store.ts'

export const presentPerson = (row: PersonRow) => ({
  uuid: print('PRS', row.id),
  name: row.name,
  email: row.email,
  email_proved: row.email_proved_at !== null,
  ...(row.operator ? { operator: row.operator } : {}),
  locale: row.locale,
  timezone: row.timezone,
  preferences: row.preferences,
})

export const presentListed = (row: ListedPersonRow) => ({
  uuid: print('PRS', row.id),
  name: row.name,
  email: row.email,
  email_proved: row.email_proved_at !== null,
  ...(row.operator ? { operator: row.operator } : {}),
  suspended: row.suspended_at !== null,
  has_password: row.password_hash !== null,
  second_factor: row.has_second_factor,
  created_at: iso(row.created_at),
  ...(row.last_seen_at ? { last_seen_at: iso(row.last_seen_at) } : {}),
})

/** Parts of the services that the first answer to a console reads. */
export type BootDeps = Pick<Services, 'config' | 'version' | 'publicUrl' | 'mail'>

/** Returns what a console needs to begin. */
export const presentBoot = (
  session: Session,
  person: PersonRow | null,
  { config, version, publicUrl, mail }: BootDeps,
) => ({
  session_uuid: print('SES', session.id),
  kind: session.kind,
  ...(person ? { person: presentPerson(person) } : {}),
  ...(session.operator ? { operator: session.operator.role } : {}),
  accounts: session.accounts.map(({ account, key, role, userId, userName, lacksFactor }) => ({
    uuid: print('ACC', account.id),
    name: account.name,
    ...(role ? { role } : {}),
    capabilities: lacksFactor ? [] : namesOf(key.limits.scopes),
    ...(lacksFactor ? { second_factor_missing: true } : {}),
    ...(userId ? { user_uuid: print('USR', userId), user_name: userName ?? '' } : {}),
  })),
  installation: {
    name: 'Trunkline',
    version,
    sandbox: config.sandbox,
    ...(config.msgappName ? { msgapp_name: config.msgappName } : {}),
    passkeys: relyingPartyOf(publicUrl()) !== null,
    oidc: [],
    smtp: mail.isConfigured,
  },
  expires_at: iso(session.expiresAt),
  now: iso(Date.now()),
})
