import { crc32 } from 'node:zlib'

/** Own jobs of messages. The process that reads the queue runs them. */
export const submitKind = 'sms.submit'

/** Jobs of batches: see batch.ts. */
export const batchKind = 'sms.batch'

/** Whether jobs of a kind submit messages. */
export const isSubmitKind = (kind: string): boolean =>
  kind === submitKind || kind === batchKind || kind.startsWith(`${submitKind}:`)

/** Slot of a pair of numbers. All processes compute the same, so that one process submits the messages of a pair. */
export const slotOf = (pair: string, slots: number): number => (slots === 1 ? 0 : crc32(pair) % slots)

/** Kind of the jobs of a slot: messages that were passed on to the process that holds it, and does not read the queue. */
export const slotKind = (connection: string, slot: number): string => `${submitKind}:${connection}:${slot}`

/** Name of the lease of a slot. */
export const leaseName = (connection: string, slot: number): string => `${connection}/${slot}`
