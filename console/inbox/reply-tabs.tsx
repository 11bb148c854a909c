import { words as texts } from '../words/en/conversation.ts'
import type { DraftKind } from './saved-drafts.ts'

const kinds: readonly DraftKind[] = ['message', 'note']

type Props = {
  /** Prefix of the ids of the tabs and their panel. */
  readonly id: string
  readonly kind: DraftKind
  readonly onKind: (kind: DraftKind) => void
  /** A tab was clicked: the person goes on in the box. */
  readonly onClick: () => void
}

/** Chooses between a reply and a note. */
export const ReplyTabs = ({ id, kind, onKind, onClick }: Props) => (
  <div role="tablist" aria-label={texts.box.tabs} class="box-tabs">
    {kinds.map((each) => (
      <button
        key={each}
        type="button"
        role="tab"
        id={`${id}-${each}`}
        aria-selected={kind === each}
        aria-controls={`${id}-panel`}
        tabIndex={kind === each ? 0 : -1}
        class="box-tab"
        onClick={() => {
          onKind(each)
          onClick()
        }}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
          const next = each === 'message' ? 'note' : 'message'
          onKind(next)
          document.getElementById(`${id}-${next}`)?.focus()
        }}
      >
        {each === 'message' ? texts.box.reply : texts.box.note}
      </button>
    ))}
  </div>
)
