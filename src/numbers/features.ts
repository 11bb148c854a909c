import type { GroupType } from './rows.ts'

/** What an operator can say of numbers of his own; the rest follows from the type. */
export const settable = ['voice', 'sms_in', 'sms_out'] as const
export type Feature = (typeof settable)[number]

type Group = { iso_country_code: string; type: GroupType; features: readonly Feature[] | null }

/** What numbers of a country can do where their group does not say (interface.md 2.8). A2P to and from US numbers is
 *  unsupported. */
const usual = (iso: string): readonly Feature[] => (iso === 'US' ? ['voice'] : settable)

/** Which ways texts go. */
export const smsOf = ({ iso_country_code: iso, features }: Omit<Group, 'type'>) => {
  const able = features ?? usual(iso)
  return { in: able.includes('sms_in'), out: able.includes('sms_out') }
}

/** What numbers of a group can do. */
export const features = (group: Group) => [
  ...(group.features ?? usual(group.iso_country_code)),
  ...(group.type === 'mobile' ? (['msgapp'] as const) : []),
  'msgapp_business' as const,
]

/** The flag of a country: two regional indicator symbols. */
export const flag = (iso: string): string =>
  String.fromCodePoint(...[...iso].map((letter) => 0x1f1e6 + letter.charCodeAt(0) - 65))
