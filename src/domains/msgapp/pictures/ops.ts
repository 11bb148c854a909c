import type { Outbound } from '../../../platform/lib/outbound.ts'
import { refusals } from '../refusals.ts'

/**
 * Rejects an address that would never be fetched.
 * @throws the 400 Problem with the reason
 */
export const checkPictureUrl = async (outbound: Outbound, url: string | null): Promise<void> => {
  const fault = url === null ? null : await outbound.check(url)
  if (fault) throw refusals.badPictureUrl(fault)
}
