import type { MediaAnswer } from '../port.ts'

type Refused = Extract<MediaAnswer<never>, { outcome: 'refused' }>

export const done = <T>(value: T): MediaAnswer<T> => ({ outcome: 'done', value })

export const refused = (cause: Refused['cause'], reason: string): Refused => ({ outcome: 'refused', cause, reason })

export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
