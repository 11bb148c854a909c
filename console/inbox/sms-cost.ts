import { useEffect, useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { segmentsOf } from './segment-count.ts'

export type Cost = {
  readonly used: number
  readonly room: number
  readonly parts: number
  /** USD as a decimal; undefined until the server has said it. */
  readonly price?: string
  /** The character that makes the parts shorter. */
  readonly forcedBy?: string
  /** Why there is no price. */
  readonly fault?: string
}

/** Milliseconds after the last letter. */
const delay = 250

/** The parts and the price of an SMS while it is typed: what is shown is what is charged. */
export const useCost = (number: string | undefined, text: string): Cost | null => {
  const [known, setKnown] = useState<{
    text: string
    parts: number
    price?: string
    forcedBy?: string
    fault?: string
  }>()
  useEffect(() => {
    if (number === undefined || text.trim() === '') return
    const controller = new AbortController()
    const timer = setTimeout(async () => {
      try {
        const { fragments, price, forced_by } = await api(
          'POST /open/sms/preview',
          { body: { to_number: number, text } },
          { signal: controller.signal },
        )
        setKnown({ text, parts: fragments, price: String(price), ...(forced_by ? { forcedBy: forced_by } : {}) })
      } catch (error) {
        if (!controller.signal.aborted) setKnown({ text, parts: 0, fault: error instanceof Error ? error.message : '' })
      }
    }, delay)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [number, text])
  if (number === undefined || text === '') return null
  const { used, room, count } = segmentsOf(text)
  // The server's answer belongs to its own text: the price of a longer one is not known yet.
  const isKnown = known?.text === text || (known && !known.fault && known.parts === count)
  if (!isKnown || !known) return { used, room, parts: count }
  const { price, forcedBy, fault, parts } = known
  return {
    ...{ used, room, parts: parts || count },
    ...(price === undefined ? {} : { price }),
    ...(forcedBy === undefined ? {} : { forcedBy }),
    ...(fault ? { fault } : {}),
  }
}
