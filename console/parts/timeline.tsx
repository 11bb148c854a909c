import type { ComponentChildren } from 'preact'
import { words } from '../words/en/parts.ts'
import * as format from '../words/format.ts'
import { Icon } from './icon.tsx'

export type TimelineTone = 'good' | 'bad' | 'notice' | 'plain' | 'waiting'

export type TimelineStep = {
  readonly key: string
  /** ISO 8601. */
  readonly time: string
  /** The event: `submitted part 1`. */
  readonly title: string
  readonly tone?: TimelineTone
  readonly text?: ComponentChildren
  /** A link to the delivery, the ledger entry or the route. */
  readonly link?: { readonly text: string; readonly href: string } | undefined
  /** Shown when opened: headers, a SIP message, a receipt. */
  readonly raw?: string | undefined
}

const marks = { good: 'check', bad: 'x', notice: 'circle-alert', plain: 'circle', waiting: 'hourglass' } as const

const spoken = (tone: TimelineTone): string | undefined => (tone === 'plain' ? undefined : words.timeline[tone])

/** Time since the first step: `+3 ms`. */
const since = (first: string, time: string): string => {
  const passed = Date.parse(time) - Date.parse(first)
  return passed > 0 ? `+${format.duration(passed)}` : format.duration(passed)
}

export type TimelineProps = {
  readonly label: string
  readonly steps: readonly TimelineStep[]
  /** The reason and the next step: every timeline ends with them. */
  readonly end?: {
    readonly tone: TimelineTone
    readonly title: string
    readonly text: ComponentChildren
    readonly actions?: ComponentChildren
  }
}

/** The history of a message, a call, a number or an event, step by step. */
export const Timeline = ({ label, steps, end }: TimelineProps) => {
  const first = steps[0]?.time ?? ''
  return (
    <div class="timeline-holder">
      <ol class="timeline" aria-label={label}>
        {steps.map(({ key, time, title, tone = 'plain', text, link, raw }) => (
          <li key={key} class={`timeline-step is-${tone}`}>
            <time class="timeline-time tabular" dateTime={time} title={format.exactTime(time)}>
              {since(first, time)}
            </time>
            <span class="timeline-mark">
              <Icon name={marks[tone]} label={spoken(tone)} />
            </span>
            <div class="timeline-body">
              <div class="timeline-line">
                <span class="timeline-title">{title}</span>
                {text && <span class="timeline-text">{text}</span>}
                {link && <a href={link.href}>{link.text}</a>}
              </div>
              {raw !== undefined && (
                <details class="timeline-raw">
                  <summary>{words.timeline.raw}</summary>
                  {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
                  <pre tabIndex={0}>{raw}</pre>
                </details>
              )}
            </div>
          </li>
        ))}
      </ol>
      {end && (
        <div class={`timeline-end is-${end.tone}`}>
          <h3>{end.title}</h3>
          <div>{end.text}</div>
          {end.actions && <div class="row">{end.actions}</div>}
        </div>
      )}
    </div>
  )
}
