import type { MediaResult } from '../../ports/media.ts'

type MediaRefusal = Extract<MediaResult<never>, { outcome: 'refused' }>

export const done = <T>(value: T): MediaResult<T> => ({ outcome: 'done', value })

export const refused = (cause: MediaRefusal['cause'], reason: string): MediaRefusal => ({
  outcome: 'refused',
  cause,
  reason,
})

export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))
