import type { Problem } from '../../platform/http/problem.ts'
import type { Outbound } from '../../platform/lib/outbound.ts'
import { requestedUrl } from './callbacks/signature.ts'

/** Returns why an address is refused, as a predicate; null if it may be called. Its fragment is ours, and is not sent. */
export const addressFault = async (outbound: Pick<Outbound, 'check'>, url: string): Promise<string | null> =>
  URL.canParse(url) ? await outbound.check(requestedUrl(url)) : 'it is no address'

/**
 * Checks the addresses of a request before its transaction. Absent and empty fields name none.
 * @param fields that are addresses
 * @param refusal of a field with its address, and why it is refused
 * @throws Problem 400
 */
export const checkAddresses = async <F extends string>(
  outbound: Pick<Outbound, 'check'>,
  body: { readonly [field in F]?: string },
  fields: readonly F[],
  refusal: (field: F, url: string, fault: string) => Problem,
): Promise<void> => {
  for (const field of fields) {
    const url = body[field]
    if (!url) continue
    const fault = await addressFault(outbound, url)
    if (fault !== null) throw refusal(field, url, fault)
  }
}
