/** The quotas of an account: the one table of what a tenant may create or keep. Everything else reads it. */
type Quota = {
  readonly unit: string
  /** Default of an account that pays, and of one on trial. */
  readonly paid: number
  readonly trial: number
  readonly description: string
  /** How the account makes room by itself. */
  readonly fix: string
}

const gigabyte = 1024 ** 3

export const quotas = {
  webhooks: {
    unit: 'enabled webhooks',
    paid: 1_000,
    trial: 20,
    description: 'Enabled webhooks; ten disabled ones count as one. One for each of a thousand channels fits.',
    fix: 'delete one',
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
  imports: {
    unit: 'imports under way',
    paid: 2,
    trial: 1,
    description: 'Imports of contacts under way. One is taken in at a time, so a third only waits.',
    fix: 'wait until one has ended',
  },
  reservations: {
    unit: 'active reservations',
    paid: 20,
    trial: 2,
    description: 'Numbers reserved without payment. A reserved number is lost to all other accounts meanwhile.',
    fix: 'cancel one',
  },
  fanouts: {
    unit: 'deliveries a second',
    paid: 500,
    trial: 50,
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

export type QuotaName = keyof typeof quotas
export type QuotaValues = { readonly [Name in QuotaName]?: number | undefined }

// The keys of an object of ours.
export const quotaNames = Object.keys(quotas) as QuotaName[]

export const isQuotaName = (name: string): name is QuotaName => Object.hasOwn(quotas, name)

/** The highest value that a quota may have. */
export const mostQuota = 1_000_000_000_000_000

export type QuotaDefaults = { readonly paid: QuotaValues; readonly trial: QuotaValues }

/** Reads `webhooks=100,trial.webhooks=5`. @returns what is wrong, as a string */
export const readQuotas = (given: string): QuotaDefaults | string => {
  const read: { paid: { [name: string]: number }; trial: { [name: string]: number } } = { paid: {}, trial: {} }
  for (const one of given.split(',')) {
    const [, trial, name = '', value] = /^\s*(trial\.)?([a-z_]+)\s*=\s*(\d{1,15})\s*$/.exec(one) ?? []
    if (!isQuotaName(name))
      return `wants quotas such as webhooks=100,trial.webhooks=5, with names among ${quotaNames.join(', ')}`
    read[trial ? 'trial' : 'paid'][name] = Number(value)
  }
  return read
}
