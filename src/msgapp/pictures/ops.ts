import { invalid } from '../../http/problem.ts'
import type { Outbound } from '../../lib/outbound.ts'

/** Refuses an address that would never be fetched. @throws the 400 Problem that says why */
export const judgePicture = async (outbound: Outbound, url: string | null): Promise<void> => {
  const fault = url === null ? null : await outbound.judge(url)
  if (fault) invalid(`url ${fault}`)
}
