import type { VoiceTrunk } from '../../../ports/voice.ts'

/** Converts an E.164 number to the format of a trunk. */
export const toTrunkNumber = ({ numbers, callingCode }: VoiceTrunk, number: string): string => {
  const digits = number.replace(/^\+/, '')
  if (!/^\d+$/.test(digits)) return number
  if (numbers === 'plus') return `+${digits}`
  if (numbers === 'e164' || !callingCode) return digits
  return digits.startsWith(callingCode) ? `0${digits.slice(callingCode.length)}` : `00${digits}`
}

/** Converts a trunk's number to E.164 if possible; otherwise returns it as received. */
export const fromTrunkNumber = ({ numbers, callingCode }: VoiceTrunk, text: string): string => {
  const bare = text.replace(/[\s().-]/g, '')
  if (/^\+\d{4,15}$/.test(bare)) return bare
  if (!/^\d{4,17}$/.test(bare)) return text
  if (bare.startsWith('00')) return `+${bare.slice(2)}`
  if (numbers !== 'national') return `+${bare}`
  return callingCode ? `+${callingCode}${bare.replace(/^0/, '')}` : text
}
