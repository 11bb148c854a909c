// Amounts are decimal strings, as the ledger writes them. Arithmetic is in integers of the smallest unit.

const digits = 6
const form = /^(-?)(\d+)(?:\.(\d{1,6})\d*)?$/

/** Millionths of the amount. Throws a RangeError when the text is not a decimal. */
const units = (amount: string): bigint => {
  const [, sign = '', whole = '', fraction = ''] = form.exec(amount) ?? []
  if (whole === '') throw new RangeError(`${amount} is not a decimal`)
  const value = BigInt(whole + fraction.padEnd(digits, '0'))
  return sign === '-' ? -value : value
}

const text = (value: bigint): string => {
  const sign = value < 0n ? '-' : ''
  const plain = String(value < 0n ? -value : value).padStart(digits + 1, '0')
  const fraction = plain.slice(-digits).replace(/0+$/, '')
  return `${sign}${plain.slice(0, -digits)}${fraction && `.${fraction}`}`
}

/** Whether a text is a decimal that the functions of this file accept. */
export const isDecimal = (amount: string): boolean => form.test(amount)

/** Returns the sum of decimals, exact to the micro-dollar. */
export const add = (...amounts: readonly string[]): string =>
  text(amounts.reduce((sum, amount) => sum + units(amount), 0n))

/** Returns the decimal times a whole number. */
export const multiply = (amount: string, times: number): string => text(units(amount) * BigInt(times))

/** Returns a number below, equal to or above zero, as a comparison for `sort`. */
export const compare = (one: string, other: string): number => {
  const difference = units(one) - units(other)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Returns the nearest double, for the height of a bar. Never calculate with the result. */
export const approximate = (amount: string): number => Number(amount)
