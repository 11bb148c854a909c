import { useEffect, useRef, useState } from 'preact/hooks'
import { words as texts } from '../words/en/conversation.ts'
import { words as parts } from '../words/en/parts.ts'

export type Suggestion = {
  readonly key: string
  readonly title: string
  readonly hint: string
  /** Takes the place of the typed word. */
  readonly text: string
}

type State = {
  readonly isOpen: boolean
  readonly active: number
  /** Handles a key of the box. Returns true if the list used it. */
  readonly onKey: (event: KeyboardEvent) => boolean
  readonly close: () => void
  readonly setActive: (index: number) => void
}

/** Choices for the word at the cursor: the focus stays in the box (ARIA APG, listbox with an active descendant). */
export const useSuggestions = (
  word: string | undefined,
  suggestions: readonly Suggestion[],
  onChoose: (suggestion: Suggestion) => void,
): State => {
  const [active, setActive] = useState(0)
  const [closed, setClosed] = useState<string>()
  useEffect(() => setActive(0), [word])
  useEffect(() => {
    if (word === undefined) setClosed(undefined)
  }, [word])
  const isOpen = word !== undefined && closed !== word && suggestions.length > 0
  const onKey = (event: KeyboardEvent): boolean => {
    if (!isOpen) return false
    const count = suggestions.length
    if (event.key === 'ArrowDown') setActive((active + 1) % count)
    else if (event.key === 'ArrowUp') setActive((active - 1 + count) % count)
    else if (event.key === 'Escape') setClosed(word)
    else if ((event.key === 'Enter' && !event.ctrlKey && !event.metaKey) || event.key === 'Tab') {
      const chosen = suggestions[active]
      if (chosen) onChoose(chosen)
    } else return false
    event.preventDefault()
    event.stopPropagation()
    return true
  }
  return { isOpen, active: Math.min(active, suggestions.length - 1), onKey, close: () => setClosed(word), setActive }
}

type Props = {
  readonly id: string
  readonly label: string
  readonly suggestions: readonly Suggestion[]
  readonly state: State
  readonly onChoose: (suggestion: Suggestion) => void
}

export const SuggestionList = ({ id, label, suggestions, state, onChoose }: Props) => {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [state.active, state.isOpen])
  return (
    <>
      <div class="for-readers" role="status">
        {state.isOpen ? parts.combobox.results(suggestions.length) : ''}
      </div>
      {state.isOpen && (
        <div
          ref={list}
          id={id}
          role="listbox"
          aria-label={label}
          class="suggestions"
          onPointerDown={(event) => event.preventDefault()}
        >
          {suggestions.map((suggestion, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the box has the keys.
            // biome-ignore lint/a11y/useFocusableInteractive: the box keeps the focus.
            <div
              key={suggestion.key}
              id={`${id}-${index}`}
              role="option"
              class="suggestion"
              aria-selected={index === state.active ? 'true' : 'false'}
              onClick={() => onChoose(suggestion)}
              onPointerMove={() => state.active !== index && state.setActive(index)}
            >
              <span class="suggestion-title" dir="auto">
                {suggestion.title}
              </span>
              <span class="soft cut" dir="auto">
                {suggestion.hint}
              </span>
            </div>
          ))}
        </div>
      )}
    </>
  )
}

export const suggestionsLabel = (sign: '/' | '@'): string => (sign === '/' ? texts.box.canned : texts.box.mention)
