import type { GroupType } from './catalogue-rows.ts'

/** Features that an operator can set for own numbers; the others follow from the type. */
export const settable = ['voice', 'sms_in', 'sms_out'] as const
export type Feature = (typeof settable)[number]

type Group = { iso_country_code: string; type: GroupType; features: readonly Feature[] | null }

/** Default features of a country's numbers. A2P to and from US numbers is unsupported. */
const defaultFeatures = (iso: string): readonly Feature[] => (iso === 'US' ? ['voice'] : settable)

/** Directions in which a group's numbers carry SMS. */
export const smsOf = ({ iso_country_code: iso, features }: Omit<Group, 'type'>) => {
  const able = features ?? defaultFeatures(iso)
  return { in: able.includes('sms_in'), out: able.includes('sms_out') }
}

export const features = (group: Group) => [
  ...(group.features ?? defaultFeatures(group.iso_country_code)),
  ...(group.type === 'mobile' ? (['msgapp'] as const) : []),
  'msgapp_business' as const,
]

/** Returns the flag emoji of a country: two regional indicator symbols. */
export const flag = (iso: string): string =>
  String.fromCodePoint(...[...iso].map((letter) => 0x1f1e6 + letter.charCodeAt(0) - 65))
