import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import * as format from '../words/format.ts'
import { Icon } from './icon.tsx'

export type HandsetMessage = {
  readonly id: string
  /** As the handset sees it: `in` is a message that reached it. */
  readonly direction: 'in' | 'out'
  readonly text: string
  readonly time: string
  /** The other number. */
  readonly with?: string
}

export type HandsetProps = {
  readonly number: string
  readonly messages: readonly HandsetMessage[]
  /** Lets the handset write. */
  readonly onSend?: (text: string) => void
  readonly busy?: boolean
  /** A call on the screen: shown over the messages. */
  readonly call?: ComponentChildren
  readonly empty?: string
}

/** A sandbox handset as a telephone with its messages. */
export const Handset = ({ number, messages, onSend, busy = false, call, empty }: HandsetProps) => {
  const inputId = useId()
  const [text, setText] = useState('')
  const log = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (log.current && messages.length > 0) log.current.scrollTop = log.current.scrollHeight
  }, [messages.length])
  const name = words.handset.of(format.phoneNumber(number))
  return (
    <section class="handset" aria-label={name}>
      <header class="handset-head">
        <span class="handset-avatar">
          <Icon name="smartphone" />
        </span>
        <bdi dir="ltr" class="tabular">
          {format.phoneNumber(number)}
        </bdi>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <div ref={log} class="handset-log" role="log" aria-label={words.handset.conversation} tabIndex={0}>
        {messages.length === 0 && <p class="handset-empty">{empty ?? words.handset.empty}</p>}
        {messages.map(({ id, direction, text: content, time, with: other }) => (
          <div key={id} class={`bubble bubble-${direction}`}>
            <span class="for-readers">{direction === 'in' ? words.handset.incoming : words.handset.outgoing} </span>
            <p dir="auto">{content}</p>
            <span class="bubble-note tabular">
              {other && <bdi dir="ltr">{format.phoneNumber(other)}</bdi>}
              <time dateTime={time}>{format.clock(time)}</time>
            </span>
          </div>
        ))}
      </div>
      {call && <div class="handset-call">{call}</div>}
      {onSend && (
        <form
          class="handset-write"
          onSubmit={(event) => {
            event.preventDefault()
            if (busy || text.trim() === '') return
            onSend(text.trim())
            setText('')
          }}
        >
          <label class="for-readers" for={inputId}>
            {words.handset.write}
          </label>
          <input
            id={inputId}
            class="handset-input"
            dir="auto"
            autocomplete="off"
            placeholder={words.handset.write}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
          <button type="submit" class="handset-send" aria-disabled={busy ? 'true' : undefined}>
            <Icon name="arrow-up" label={words.handset.send} />
          </button>
        </form>
      )}
    </section>
  )
}
