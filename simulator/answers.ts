/** What the control interface answers. */
export type Reply = { status: number; body: unknown }
export type Body = Record<string, unknown>

export const bad = (error: string): Reply => ({ status: 400, body: { error } })
export const missing: Reply = { status: 404, body: { error: 'no such thing' } }

/** E.164 with `+`, whether it came with one or not; null for what is no number. */
export const numberOf = (text: unknown): string | null => {
  const digits = typeof text === 'string' ? /^\+?([1-9]\d{2,14})$/.exec(text)?.[1] : undefined
  return digits ? `+${digits}` : null
}
