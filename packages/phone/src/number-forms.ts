/**
 * Forms of one number. Numbering plans change, and networks keep the number of a sign-up: WhatsApp still shows
 * `554191230001` for +55 41 99123-0001. A rule is in the table only if each number of its old form is one number today.
 */

/** Returns the other form of a number; null for a number that the rule does not concern. */
type Mapping = (number: string) => string | null

type Rule = {
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  readonly callingCode: string
  readonly toCurrent: Mapping
  readonly toFormer: Mapping
  /** True: both forms are dialled, as landlines have the old one. They are one subscriber all the same. */
  readonly isFormerDialled: boolean
  readonly source: string
}

const replacing =
  (pattern: RegExp, replacement: string): Mapping =>
  (number) =>
    pattern.test(number) ? number.replace(pattern, replacement) : null

/** Area codes in use, as in libphonenumber. */
const brazilianArea = '(?<area>[14689][1-9]|2[12478]|3[1-578]|5[13-5]|7[13-579])'

/** Old and current prefixes of mobiles in Vietnam. */
const vietnamesePrefixes = (
  '120 70, 121 79, 122 77, 126 76, 128 78, 123 83, 124 84, 125 85, 127 81, 129 82, 162 32, 163 33, 164 34, 165 35, ' +
  '166 36, 167 37, 168 38, 169 39, 186 56, 188 58, 199 59'
)
  .split(', ')
  .map((pair): [former: string, current: string] => [pair.slice(0, 3), pair.slice(4)])
const vietnameseByFormer = new Map(vietnamesePrefixes)
const vietnameseByCurrent = new Map(vietnamesePrefixes.map(([former, current]) => [current, former]))

const vietnamese =
  (pattern: RegExp, prefixes: ReadonlyMap<string, string>): Mapping =>
  (number) => {
    const [, prefix = '', rest = ''] = pattern.exec(number) ?? []
    const other = prefixes.get(prefix)
    return other === undefined ? null : `+84${other}${rest}`
  }

/** The second digit of an old mobile number of Ivory Coast shows its operator, whose prefix is 01, 05 or 07. */
const ivorianPrefixes = ['01', '01', '01', '01', '05', '05', '05', '07', '07', '07']

const rules: readonly Rule[] = [
  {
    country: 'BR',
    callingCode: '55',
    toCurrent: replacing(new RegExp(`^\\+55${brazilianArea}(?<rest>[6-9]\\d{7})$`), '+55$<area>9$<rest>'),
    toFormer: replacing(new RegExp(`^\\+55${brazilianArea}9(?<rest>[6-9]\\d{7})$`), '+55$<area>$<rest>'),
    isFormerDialled: false,
    source: 'Anatel, Resolução 553/2010: a 9 before mobiles of eight digits, which begin with 6 to 9, by November 2016',
  },
  {
    country: 'MX',
    callingCode: '52',
    toCurrent: replacing(/^\+521(?<rest>[2-9]\d{9})$/, '+52$<rest>'),
    toFormer: replacing(/^\+52(?<rest>[2-9]\d{9})$/, '+521$<rest>'),
    isFormerDialled: false,
    source: 'IFT, Plan Técnico Fundamental de Numeración, in force since August 2019: no 1 before mobiles from abroad',
  },
  {
    country: 'AR',
    callingCode: '54',
    // 15 after the area code is the national form, which libphonenumber reads as the 9.
    toCurrent: replacing(/^\+54(?<rest>[1-3]\d{9})$/, '+549$<rest>'),
    toFormer: replacing(/^\+549(?<rest>[1-3]\d{9})$/, '+54$<rest>'),
    isFormerDialled: true,
    source:
      'Plan Fundamental de Numeración Nacional (Res. SC 46/1997): ten digits are one subscriber; 9 is the prefix of mobiles from abroad',
  },
  {
    country: 'BJ',
    callingCode: '229',
    toCurrent: replacing(/^\+229(?<rest>[24-69]\d{7})$/, '+22901$<rest>'),
    toFormer: replacing(/^\+22901(?<rest>[24-69]\d{7})$/, '+229$<rest>'),
    isFormerDialled: false,
    source: 'ARCEP Bénin: 01 before every number since 30 November 2024',
  },
  {
    country: 'CI',
    callingCode: '225',
    toCurrent: (number) => {
      const [, rest = '', operator = ''] = /^\+225([045789](\d)\d{6})$/.exec(number) ?? []
      return rest === '' ? null : `+225${ivorianPrefixes[Number(operator)]}${rest}`
    },
    toFormer: (number) => {
      const [, prefix, rest = '', operator = ''] = /^\+225(0[157])([045789](\d)\d{6})$/.exec(number) ?? []
      return rest !== '' && ivorianPrefixes[Number(operator)] === prefix ? `+225${rest}` : null
    },
    isFormerDialled: false,
    source: 'ARTCI: the prefix of the operator before every mobile since 31 January 2021',
  },
  {
    country: 'VN',
    callingCode: '84',
    toCurrent: vietnamese(/^\+84(1\d\d)(\d{7})$/, vietnameseByFormer),
    toFormer: vietnamese(/^\+84([35-8]\d)(\d{7})$/, vietnameseByCurrent),
    isFormerDialled: false,
    source:
      'Ministry of Information and Communications, Decision 798/QĐ-BTTTT: prefixes of ten digits ended in November 2018',
  },
]

/** Rules by the first two digits of a number: most numbers have none, and cost two look-ups. */
const rulesByStart: readonly (readonly Rule[] | undefined)[] = Array.from({ length: 100 }, (_, start) => {
  const found = rules.filter(({ callingCode }) => callingCode.startsWith(String(start).padStart(2, '0')))
  return found.length > 0 ? found : undefined
})

const rulesOf = (number: string): readonly Rule[] | undefined =>
  rulesByStart[(number.charCodeAt(1) - 48) * 10 + number.charCodeAt(2) - 48]

/** Returns a number in the form that can be dialled today: an old form that a numbering plan replaced is rewritten. */
export const currentNumber = (number: string): string => {
  for (const { toCurrent, isFormerDialled } of rulesOf(number) ?? []) {
    const current = isFormerDialled ? null : toCurrent(number)
    if (current !== null) return current
  }
  return number
}

/**
 * Returns the form under which a person is known, whatever form a network or a client gave. Two numbers are one person
 * if their canonical forms are equal. Send and dial the number as it was given, if it was.
 * @param number E.164 with `+`; any other text is returned as it is
 */
export const canonicalNumber = (number: string): string => {
  for (const { toCurrent } of rulesOf(number) ?? []) {
    const current = toCurrent(number)
    if (current !== null) return current
  }
  return number
}

/** Returns all known forms of a number, the canonical one first. */
export const numberForms = (number: string): readonly string[] => {
  const canonical = canonicalNumber(number)
  const former = rulesOf(canonical)?.flatMap(({ toFormer }) => toFormer(canonical) ?? []) ?? []
  return [canonical, ...former]
}

/** Returns the forms of a number that can be dialled today, the canonical one first: stored messages and calls have one of them. */
export const dialledForms = (number: string): readonly string[] => {
  const canonical = canonicalNumber(number)
  const former =
    rulesOf(canonical)?.flatMap((rule) => (rule.isFormerDialled ? (rule.toFormer(canonical) ?? []) : [])) ?? []
  return [canonical, ...former]
}
