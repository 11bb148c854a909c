import type { RefObject } from 'preact'
import { useState } from 'preact/hooks'
import { useQuery } from '../api/query.ts'
import { announcePresence } from '../live/presence.ts'
import { isComposing } from '../parts/composing.ts'
import { words as texts } from '../words/en/conversation.ts'
import { enterSends } from './enter-preference.ts'
import type { Channel, Conversation } from './inbox-types.ts'
import { shownName } from './list-row.tsx'
import type { SendOptions } from './reply-sender.ts'
import { changeDraft, type DraftKind, draftOf } from './saved-drafts.ts'
import { orderedChannels } from './sim-switch.tsx'
import { type Suggestion, SuggestionList, suggestionsLabel, useSuggestions } from './suggestion-list.tsx'
import { suggestionsFor } from './typing-suggestions.ts'
import { replaceTrigger, triggerAt } from './typing-trigger.ts'

type TextBox = RefObject<HTMLTextAreaElement | null>

/** Canned replies and mentions for the word at the cursor. */
const useTyping = (conversation: string, kind: DraftKind, channel: Channel | undefined, box: TextBox) => {
  const [caret, setCaret] = useState(0)
  const { text } = draftOf(conversation, kind).value
  const trigger = triggerAt(text, caret, kind === 'note' ? ['@'] : ['/'])
  const replies = useQuery('GET /open/replies', {
    query: { conversation_uuid: conversation, ...(channel ? { channel_uuid: channel.channel_uuid } : {}) },
    enabled: trigger?.sign === '/',
  })
  const suggestions = trigger ? suggestionsFor(trigger, replies.data?.replies ?? []) : []

  const setText = (next: string, cursor: number) => {
    changeDraft(conversation, kind, { text: next })
    setCaret(cursor)
  }
  const choose = ({ text: chosen }: Suggestion) => {
    if (!trigger) return
    const next = replaceTrigger(text, trigger, chosen)
    setText(next.text, next.cursor)
    const { current } = box
    if (!current) return
    // At once: a person who types on would find the cursor moved by a later frame.
    current.value = next.text
    current.focus()
    current.setSelectionRange(next.cursor, next.cursor)
  }
  const state = useSuggestions(trigger ? `${trigger.sign}${trigger.text}` : undefined, suggestions, choose)
  return { text, setText, setCaret, trigger, suggestions, choose, state }
}

type Props = {
  readonly id: string
  readonly box: TextBox
  readonly conversation: Conversation
  readonly kind: DraftKind
  readonly channel: Channel | undefined
  readonly onSend: (options?: SendOptions) => void
  readonly onFiles: (files: FileList) => void
}

/** The text of a reply or note. */
export const ReplyText = ({ id, box, conversation, kind, channel, onSend, onFiles }: Props) => {
  const { uuid } = conversation
  const isNote = kind === 'note'
  const { text, setText, setCaret, trigger, suggestions, choose, state } = useTyping(uuid, kind, channel, box)

  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event) || state.onKey(event)) return
    const isChord = event.ctrlKey || event.metaKey
    const digit = event.altKey ? Number(event.code.replace('Digit', '')) : 0
    const chosen = digit >= 1 ? orderedChannels(conversation)[digit - 1] : undefined
    if (chosen && !isNote) {
      event.preventDefault()
      changeDraft(uuid, 'message', { channel: chosen.channel_uuid })
    } else if (event.key === 'Enter' && isChord && event.shiftKey && !isNote) {
      event.preventDefault()
      onSend({ close: true })
    } else if (event.key === 'Enter' && (isChord || (enterSends() && !event.shiftKey && !event.altKey))) {
      event.preventDefault()
      onSend()
    } else if (event.key === 'Escape') {
      event.preventDefault()
      box.current?.blur()
      document.querySelector<HTMLElement>(`[data-row="${uuid}"]`)?.focus()
    }
  }

  return (
    <>
      <textarea
        ref={box}
        class="box-text"
        rows={1}
        dir="auto"
        aria-label={isNote ? texts.box.noteLabel : texts.box.replyLabel(shownName(conversation))}
        aria-autocomplete="list"
        aria-controls={state.isOpen ? `${id}-list` : undefined}
        aria-activedescendant={state.isOpen ? `${id}-list-${state.active}` : undefined}
        aria-keyshortcuts={isNote ? 'n' : 'r'}
        placeholder={isNote ? texts.box.noteHint : texts.box.replyHint}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value, currentTarget.selectionStart)
          announcePresence(uuid, isNote ? 'viewing' : 'typing')
        }}
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
        onBlur={state.close}
        onPaste={(event) => {
          const pasted = event.clipboardData?.files
          if (!pasted || pasted.length === 0) return
          event.preventDefault()
          onFiles(pasted)
        }}
      />
      <SuggestionList
        id={`${id}-list`}
        label={suggestionsLabel(trigger?.sign ?? '/')}
        suggestions={suggestions}
        state={state}
        onChoose={choose}
      />
    </>
  )
}
