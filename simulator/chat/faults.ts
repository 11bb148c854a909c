/** What the chat network can be told to do wrong. Each lasts until it is taken back, but `disconnect` and `cut`. */
export const chatFaults = [
  /** Closes every connection, at once. */
  'disconnect',
  /** Takes the next message, and closes the connection instead of answering. */
  'cut',
  /** Refuses every login. */
  'refuse',
  /** Answers nothing and tells nothing; connections stay open. */
  'freeze',
  /** Tells everything twice. */
  'duplicates',
  /** Tells in another order than it happened. */
  'reorder',
  /** Tells receipts `ms` later; 1,500 unless told. */
  'late',
  /** Answers `ms` later, so that receipts come first; 500 unless told. */
  'slow',
] as const

export type ChatFault = (typeof chatFaults)[number]

export const isChatFault = (value: unknown): value is ChatFault => chatFaults.some((fault) => fault === value)

/** The faults that are on, with their milliseconds. */
export class ChatFaults {
  private readonly active = new Map<ChatFault, number>()

  on(fault: ChatFault, ms: number): void {
    this.active.set(fault, ms)
  }

  off(fault: ChatFault): void {
    this.active.delete(fault)
  }

  clear(): void {
    this.active.clear()
  }

  has(fault: ChatFault): boolean {
    return this.active.has(fault)
  }

  ms(fault: 'late' | 'slow'): number {
    return this.active.get(fault) ?? 0
  }

  get list(): ChatFault[] {
    return [...this.active.keys()]
  }
}
