import { print } from '../../../platform/lib/id.ts'
import { signatureHeaders, signingKeyOf } from '../../../platform/lib/webhook-signature.ts'
import type { Attempt } from '../delivery/delivery-log-store.ts'
import { secretOverlapMs, secretSlackMs } from '../limits.ts'
import type { WebhookRow } from '../store.ts'

/** Returns the sealed secrets that signed at that time, Unix milliseconds; null if they are no longer known. */
const secretsAt = (row: WebhookRow, at: number): readonly Buffer[] | null => {
  const { sealed_secret: current, sealed_previous_secret: previous, previous_until: until } = row
  if (until === null || previous === null || at > until.getTime() + secretSlackMs) return [current]
  const isWithin = at > until.getTime() - secretOverlapMs + secretSlackMs && at < until.getTime() - secretSlackMs
  return isWithin ? [current, previous] : null
}

/**
 * Returns the headers that an attempt sent. The signature is not stored: it follows from the body, the time and the
 * secret.
 * @param sent `body` is null for a reader who may not see it: the signature is left out
 * @returns no header if nothing was sent, or for an attempt of an earlier version
 */
export const sentHeaders = (
  row: WebhookRow,
  sent: { event: string; body: string | null; open: (sealed: Buffer) => string },
  { at, timestamp }: Attempt,
): Record<string, string> => {
  if (timestamp === undefined) return {}
  const { event, body, open } = sent
  const id = print('EVT', event)
  const sealed = secretsAt(row, Date.parse(at))
  const common = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': String(timestamp) }
  if (sealed === null || body === null) return common
  const keys = sealed.map((one) => signingKeyOf(open(one)))
  return { ...common, ...signatureHeaders(keys, id, body, timestamp * 1000) }
}
