import type { ChatEvents } from '../chat-port.ts'
import { isGroup } from './codec/jid.ts'
import { countOf, type NumberOfPerson, remoteOf } from './incoming.ts'
import type { Events } from './library.ts'

/** `WAProto`, WebMessageInfo.Status; its ERROR is 0, which is no level of ours. */
const levels = new Map([
  [2, 1],
  [3, 2],
  [4, 3],
  [5, 3],
] as const)
const errorStatus = 0

const timeOf = (seconds: Parameters<typeof countOf>[0]): number => countOf(seconds) * 1_000 || Date.now()

/** What the network said of a message that it did not take; the numbers are its own. */
export const faultOf = (code: string): string =>
  code === '463'
    ? 'the network lets this number begin no new conversations now (reach-out time lock)'
    : code === '479'
      ? 'the network finds the message malformed, or a device of the recipient gone'
      : `the network refused the message: ${code}`

export const tellUpdates = async (
  { receipt, failure }: ChatEvents,
  channel: string,
  updates: Events['messages.update'],
): Promise<void> => {
  for (const { key, update } of updates) {
    const { id, remoteJid } = key
    const { status, messageTimestamp, messageStubParameters } = update
    if (!id || !key.fromMe || !remoteJid || status === null || status === undefined) continue
    const at = timeOf(messageTimestamp)
    // Narrowed by the lookup: others are none of these.
    const level = levels.get(status as 2 | 3 | 4 | 5)
    if (level !== undefined) await receipt(channel, { id, level, at, by: null })
    else if (status === errorStatus) {
      const code = messageStubParameters?.[0] ?? 'unknown'
      await failure(channel, { id, code, reason: faultOf(code), at })
    }
  }
}

/** Of a group: who of it has got or read the message. */
export const tellGroupReceipts = async (
  { receipt }: ChatEvents,
  channel: string,
  updates: Events['message-receipt.update'],
  numberOfPerson: NumberOfPerson,
): Promise<void> => {
  for (const { key, receipt: of } of updates) {
    const { id, remoteJid } = key
    if (!id || !key.fromMe || !isGroup(remoteJid ?? '') || !of.userJid) continue
    const by = await remoteOf(of.userJid, null, null, numberOfPerson)
    const read = countOf(of.readTimestamp)
    await receipt(channel, { id, level: read > 0 ? 3 : 2, at: timeOf(of.readTimestamp ?? of.receiptTimestamp), by })
  }
}
