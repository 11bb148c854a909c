/** Money in code: whole micro-dollars (USD 0.000001), exact up to 9 billion dollars. In SQL it is numeric(18, 6). */
export type Micros = number

const form = /^(-?)(\d{1,10})(?:\.(\d{1,6})0*)?$/

/** Parses a decimal string such as `12.5` to micro-dollars; null if it is invalid or has more than six places. */
export const micros = (decimal: string): Micros | null => {
  const match = form.exec(decimal)
  if (!match) return null
  const [, sign, whole = '', fraction = ''] = match
  const value = Number(whole) * 1_000_000 + Number(fraction.padEnd(6, '0'))
  if (!Number.isSafeInteger(value)) return null
  return sign && value !== 0 ? -value : value
}

/** Formats an amount as a decimal string with at least two places: `12.50`, `0.0045`. */
export const decimal = (amount: Micros): string => {
  const digits = Math.abs(amount).toString().padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0{1,4}$/, '')
  return `${amount < 0 ? '-' : ''}${digits.slice(0, -6)}.${fraction}`
}

/** Returns an amount in dollars, as the interface prints `price`. */
export const dollars = (amount: Micros): number => amount / 1_000_000
