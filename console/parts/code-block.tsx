import { useId, useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import { CopyButton } from './values.tsx'

export type CodeSample = { readonly language: string; readonly code: string }

export type CodeBlockProps = {
  /** Purpose of the code: for screen readers and for the copy button. */
  readonly label: string
  /** One or several: `words.code.curl` and `words.code.client` name the usual two. */
  readonly samples: readonly CodeSample[]
}

/** The language that was chosen last: every block of the page begins with it. */
let lastLanguage = ''

/** Code that people copy. Several languages are tabs (ARIA APG, tabs): arrows move and choose. */
export const CodeBlock = ({ label, samples }: CodeBlockProps) => {
  const id = useId()
  const tabs = useRef<HTMLDivElement>(null)
  const [chosen, setChosen] = useState(lastLanguage)
  const index = Math.max(
    0,
    samples.findIndex(({ language }) => language === chosen),
  )
  const sample = samples[index]
  if (!sample) return null

  const choose = (next: number) => {
    const { language } = samples.at(next % samples.length) ?? sample
    lastLanguage = language
    setChosen(language)
    tabs.current?.querySelectorAll<HTMLElement>('[role="tab"]')[(next + samples.length) % samples.length]?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const isReversed = getComputedStyle(event.currentTarget as Element).direction === 'rtl'
    const steps = new Map([
      ['ArrowRight', index + (isReversed ? -1 : 1)],
      ['ArrowLeft', index + (isReversed ? 1 : -1)],
      ['Home', 0],
      ['End', -1],
    ])
    const next = steps.get(event.key)
    if (next === undefined) return
    event.preventDefault()
    choose(next)
  }
  const isSingle = samples.length === 1
  return (
    <figure class="code-block" aria-label={label}>
      <figcaption class="code-head">
        {isSingle ? (
          <span class="code-language">{sample.language}</span>
        ) : (
          <div
            ref={tabs}
            role="tablist"
            tabIndex={-1}
            class="code-tabs"
            aria-label={words.code.languages}
            onKeyDown={onKeyDown}
          >
            {samples.map(({ language }, each) => (
              <button
                key={language}
                type="button"
                role="tab"
                id={`${id}-${each}`}
                aria-selected={each === index}
                aria-controls={`${id}-panel`}
                tabIndex={each === index ? 0 : -1}
                onClick={() => choose(each)}
              >
                {language}
              </button>
            ))}
          </div>
        )}
        <CopyButton text={sample.code} what={label} />
      </figcaption>
      <div
        id={`${id}-panel`}
        {...(isSingle
          ? { role: 'group', 'aria-label': label }
          : { role: 'tabpanel', 'aria-labelledby': `${id}-${index}` })}
      >
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
        <pre tabIndex={0} dir="ltr">
          <code>{sample.code}</code>
        </pre>
      </div>
    </figure>
  )
}
