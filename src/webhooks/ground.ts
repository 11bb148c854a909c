import type { Delivery, Hook, Outcome } from './call.ts'
import type { Gate } from './gate.ts'
import type { Lane } from './lane.ts'
import type { Change, Health } from './settle.ts'

/** What a lane asks to be written down: all at once. */
export type Report = {
  readonly changes: readonly Change[]
  readonly health: Health | null
  /** What waits is due again: of one conversation, or, as null, of the whole webhook. */
  readonly recovered: { readonly conversation: string | null } | null
  readonly disabled: 'gone' | 'failing' | null
}

/** What a lane needs of the engine. */
export type Ground = {
  readonly gate: Gate
  /** The platform's time, Unix milliseconds. */
  now(): number
  /** Whether the lease holds: nothing is begun without. */
  isHeld(): boolean
  call(hook: Hook, delivery: Delivery, signal: AbortSignal): Promise<Outcome>
  /** Resolves once it is written down, or once the lane is lost. */
  write(lane: Lane, report: Report): Promise<void>
  /** The oldest of the conversation that failed before and waits. */
  elder(lane: Lane, conversation: string, before: string): Promise<Delivery | null>
  /** The lane may have room for more. */
  hungry(lane: Lane): void
}
