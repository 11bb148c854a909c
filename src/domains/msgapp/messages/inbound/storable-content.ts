import { storableJson } from '../../../../platform/lib/storable.ts'
import type { ChatInbound } from '../../../../ports/chat-message.ts'
import { maxContentDepth, maxContentLength } from '../../limits.ts'

/** Returns a copy without the values below a level: their depth could exhaust the stack of their readers. */
const cutBelow = (levels: number, value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (levels === 0) return null
  if (Array.isArray(value)) return value.map((part) => cutBelow(levels - 1, part))
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cutBelow(levels - 1, part)]))
}

/** Returns the structured content of a message as JSON; null if it has none. */
export const storableContent = ({ content, quoted, product, referral, pin }: ChatInbound): string | null => {
  if (!content && !quoted && !product && !referral) return null
  const own = content ?? (pin ? { kind: 'location', ...pin } : referral ? { kind: 'referral' } : { kind: 'quote' })
  const whole = {
    ...own,
    ...(quoted ? { quoted: { wa_msg_id: quoted } } : {}),
    ...(product ? { product } : {}),
    ...(referral ? { referral } : {}),
  }
  const json = storableJson(cutBelow(maxContentDepth, whole))
  if (json.length <= maxContentLength) return json
  const type = own.kind === 'unsupported' ? own.type : own.kind
  return storableJson({ kind: 'unsupported', type: type.slice(0, 100), is_truncated: true })
}
