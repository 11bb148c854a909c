import type { VoiceTrunk } from '../../voice-port.ts'

/** How a number of E.164 is written to a trunk. */
export const toTrunk = ({ numbers, callingCode }: VoiceTrunk, number: string): string => {
  const digits = number.replace(/^\+/, '')
  if (!/^\d+$/.test(digits)) return number
  if (numbers === 'plus') return `+${digits}`
  if (numbers === 'e164' || !callingCode) return digits
  return digits.startsWith(callingCode) ? `0${digits.slice(callingCode.length)}` : `00${digits}`
}

/** A trunk's number as E.164 where that can be told, else as it was sent. */
export const fromTrunk = ({ numbers, callingCode }: VoiceTrunk, text: string): string => {
  const bare = text.replace(/[\s().-]/g, '')
  if (/^\+\d{4,15}$/.test(bare)) return bare
  if (!/^\d{4,17}$/.test(bare)) return text
  if (bare.startsWith('00')) return `+${bare.slice(2)}`
  if (numbers !== 'national') return `+${bare}`
  return callingCode ? `+${callingCode}${bare.replace(/^0/, '')}` : text
}
