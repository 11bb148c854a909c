/** A quota: a limit on what an account may create or store. All other code reads the table `quotaDefinitions`. */
type Quota = {
  readonly unit: string
  /** Defaults of a paying account and of one on trial. */
  readonly paid: number
  readonly trial: number
  /** Lowest value. Default: 0. */
  readonly least?: number
  readonly description: string
  /** How the account can free capacity itself. */
  readonly fix: string
}

const gigabyte = 1024 ** 3

export const quotaDefinitions = {
  webhooks: {
    unit: 'enabled webhooks',
    paid: 1_000,
    trial: 20,
    description: 'Enabled webhooks; ten disabled ones count as one. Enough for one webhook on each of 1,000 channels.',
    fix: 'delete one',
  },
  members: {
    unit: 'members',
    paid: 1_000,
    trial: 20,
    description: 'Members and pending invitations. Enough for a large call centre.',
    fix: 'remove one',
  },
  channels: {
    unit: 'channels',
    paid: 1_000,
    trial: 10,
    description: 'Channels of the messaging app. A thousand sessions with networks take 200 MB of memory.',
    fix: 'delete one',
  },
  contacts: {
    unit: 'contacts',
    paid: 1_000_000,
    trial: 10_000,
    description: 'Contacts. Searches are measured with a million contacts of one account.',
    fix: 'delete some',
  },
  opt_outs: {
    unit: 'opt-outs',
    paid: 1_000_000,
    trial: 10_000,
    description: 'Opt-outs that were added or imported. The STOP of a contact is stored beyond it.',
    fix: 'remove some',
  },
  imports: {
    unit: 'imports under way',
    paid: 2,
    trial: 1,
    description: 'Imports of contacts under way. One runs at a time, so a third would only wait.',
    fix: 'wait until one has ended',
  },
  reservations: {
    unit: 'active reservations',
    paid: 20,
    trial: 2,
    description: 'Numbers reserved without payment. A reserved number is unavailable to all other accounts.',
    fix: 'cancel one',
  },
  fanouts: {
    unit: 'deliveries a second',
    paid: 500,
    trial: 50,
    // With 0 waiting events would never be delivered.
    least: 1,
    description:
      'Deliveries a second, after a burst of ten seconds’ worth, of events for more than 16 webhooks and of imports. ' +
      'Later ones wait; none is lost. 500 a second take about 8 % of a core.',
    fix: 'disable webhooks',
  },
  stored_bytes: {
    unit: 'stored bytes',
    paid: 50 * gigabyte,
    trial: gigabyte,
    description: 'Bytes of message media, recordings and documents. 50 GB hold over 800 hours of recordings.',
    fix: 'delete files or messages',
  },
} as const satisfies Record<string, Quota>

export type QuotaName = keyof typeof quotaDefinitions
export type QuotaValues = { readonly [Name in QuotaName]?: number | undefined }

// The object has exactly these keys.
export const quotaNames = Object.keys(quotaDefinitions) as QuotaName[]

export const isQuotaName = (name: string): name is QuotaName => Object.hasOwn(quotaDefinitions, name)

/** Returns the lowest value of a quota. */
export const minimumQuota = (name: QuotaName): number => {
  const quota: Quota = quotaDefinitions[name]
  return quota.least ?? 0
}

/** Highest value of any quota. */
export const maximumQuota = 1_000_000_000_000_000

export type QuotaDefaults = { readonly paid: QuotaValues; readonly trial: QuotaValues }

/** Parses `webhooks=100,trial.webhooks=5`. @returns a string that describes the fault if the text is invalid */
export const readQuotas = (text: string): QuotaDefaults | string => {
  const read: { paid: { [name: string]: number }; trial: { [name: string]: number } } = { paid: {}, trial: {} }
  for (const one of text.split(',')) {
    const [, trial, name = '', value] = /^\s*(trial\.)?([a-z_]+)\s*=\s*(\d{1,15})\s*$/.exec(one) ?? []
    if (!isQuotaName(name))
      return `wants quotas such as webhooks=100,trial.webhooks=5, with names among ${quotaNames.join(', ')}`
    if (Number(value) < minimumQuota(name)) return `must give ${name} at least ${minimumQuota(name)}`
    read[trial ? 'trial' : 'paid'][name] = Number(value)
  }
  return read
}
