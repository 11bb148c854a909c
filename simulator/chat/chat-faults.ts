/** Faults of the chat network. Each lasts until cleared, except `disconnect` and `cut`. */
export const chatFaults = [
  /** Closes every connection at once. */
  'disconnect',
  /** Accepts the next message and closes the connection instead of responding. */
  'cut',
  /** Refuses every login. */
  'refuse',
  /** Sends neither responses nor events; connections stay open. */
  'freeze',
  /** Sends every event twice. */
  'duplicates',
  /** Sends events out of order. */
  'reorder',
  /** Delays receipts by `ms`. Default: 1,500. */
  'late',
  /** Delays responses by `ms`, so that receipts arrive first. Default: 500. */
  'slow',
] as const

export type ChatFault = (typeof chatFaults)[number]

export const isChatFault = (value: unknown): value is ChatFault => chatFaults.some((fault) => fault === value)

/** Active faults with their milliseconds. */
export class ChatFaults {
  private readonly active = new Map<ChatFault, number>()

  activate(fault: ChatFault, ms: number): void {
    this.active.set(fault, ms)
  }

  deactivate(fault: ChatFault): void {
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
