import type { ChatEvents } from '../../ports/chat.ts'
import { isGroup } from './codec/jid.ts'
import type { Events } from './library.ts'
import { countOf, type ResolveNumber, remoteOf } from './message-parser.ts'

/** `WAProto`, WebMessageInfo.Status. Its ERROR is 0, which maps to no level. */
const levels = new Map([
  [2, 1],
  [3, 2],
  [4, 3],
  [5, 3],
] as const)
const errorStatus = 0

const timeOf = (seconds: Parameters<typeof countOf>[0]): number => countOf(seconds) * 1_000 || Date.now()

/** Reason text for a rejected message; the codes are the network's. */
export const rejectionReason = (code: string): string =>
  code === '463'
    ? 'the network bars this number from new conversations for now (reach-out time lock)'
    : code === '479'
      ? 'the network rejected the message as malformed, or a recipient device is gone'
      : `the network refused the message: ${code}`

export const publishReceipts = async (
  { receipt, failure }: ChatEvents,
  channel: string,
  updates: Events['messages.update'],
): Promise<void> => {
  for (const { key, update } of updates) {
    const { id, remoteJid } = key
    const { status, messageTimestamp, messageStubParameters } = update
    if (!id || !key.fromMe || !remoteJid || status === null || status === undefined) continue
    const at = timeOf(messageTimestamp)
    // The lookup narrows the type; other values have no level.
    const level = levels.get(status as 2 | 3 | 4 | 5)
    if (level !== undefined) await receipt(channel, { id, level, at, by: null })
    else if (status === errorStatus) {
      const code = messageStubParameters?.[0] ?? 'unknown'
      await failure(channel, { id, code, reason: rejectionReason(code), at })
    }
  }
}

/** Publishes delivery and read receipts of single group members. */
export const publishGroupReceipts = async (
  { receipt }: ChatEvents,
  channel: string,
  updates: Events['message-receipt.update'],
  numberOfPerson: ResolveNumber,
): Promise<void> => {
  for (const { key, receipt: of } of updates) {
    const { id, remoteJid } = key
    if (!id || !key.fromMe || !isGroup(remoteJid ?? '') || !of.userJid) continue
    const by = await remoteOf(of.userJid, null, null, numberOfPerson)
    const read = countOf(of.readTimestamp)
    await receipt(channel, { id, level: read > 0 ? 3 : 2, at: timeOf(of.readTimestamp ?? of.receiptTimestamp), by })
  }
}
