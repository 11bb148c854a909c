import type { GroupType } from './rows.ts'

/** What numbers of a country and type can do (interface.md 2.8). A2P to and from US numbers is unsupported. */
export const hasSms = (iso: string): boolean => iso !== 'US'

export const features = (iso: string, type: GroupType) => [
  'voice' as const,
  ...(hasSms(iso) ? (['sms_in', 'sms_out'] as const) : []),
  ...(type === 'mobile' ? (['msgapp'] as const) : []),
  'msgapp_business' as const,
]

/** The flag of a country: two regional indicator symbols. */
export const flag = (iso: string): string =>
  String.fromCodePoint(...[...iso].map((letter) => 0x1f1e6 + letter.charCodeAt(0) - 65))
