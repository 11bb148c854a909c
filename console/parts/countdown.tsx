import { useEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import * as format from '../words/format.ts'
import { Icon } from './icon.tsx'

export type CountdownProps = {
  /** ISO 8601, or milliseconds since 1970. */
  readonly until: string | number
  /** Label of the time that is left: `Held for`. */
  readonly label: string
  readonly onEnd?: () => void
}

const warningSeconds = 120

/** A clock that runs down. Screen readers read it on demand, not each second. */
export const Countdown = ({ until, label, onEnd }: CountdownProps) => {
  const end = new Date(until).getTime()
  const [now, setNow] = useState(Date.now)
  const ended = useRef(onEnd)
  ended.current = onEnd
  const seconds = Math.max(0, Math.ceil((end - now) / 1_000))
  const isOver = seconds === 0
  useEffect(() => {
    if (isOver) {
      ended.current?.()
      return
    }
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isOver])
  const tone = isOver ? 'bad' : seconds <= warningSeconds ? 'notice' : 'neutral'
  return (
    <span class={`badge tone-${tone} tabular`} role="timer" aria-label={label}>
      <Icon name={isOver ? 'circle-x' : 'clock'} />
      <span>{isOver ? words.countdown.over : `${label} ${format.stopwatch(seconds)}`}</span>
    </span>
  )
}
