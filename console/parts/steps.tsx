import type { ComponentChildren } from 'preact'
import { words } from '../words/en/parts.ts'
import { Icon } from './icon.tsx'

export type Step = {
  readonly key: string
  readonly title: string
  readonly state: 'done' | 'current' | 'open'
  /** One line when the step is closed: the result, or what it needs. */
  readonly summary?: ComponentChildren
  /** Shown for the current step, and for any other one that is opened. */
  readonly children?: ComponentChildren
  /** Keeps a step open that is done, such as one whose answer is being read. */
  readonly isOpen?: boolean
}

/** A list of steps, of which one is next: the start page. Steps that are done can be opened again. */
export const Steps = ({ label, steps }: { label: string; steps: readonly Step[] }) => (
  <ol class="steps" aria-label={label}>
    {steps.map(({ key, title, state, summary, children, isOpen = false }, index) => {
      const head = (
        <>
          <span class="step-mark">
            {state === 'done' ? <Icon name="check" /> : <span aria-hidden="true">{index + 1}</span>}
          </span>
          <span class="step-head">
            <span class="step-title">{title}</span>
            <span class="for-readers">, {words.steps[state]}</span>
            {summary && <span class="step-summary">{summary}</span>}
          </span>
        </>
      )
      return (
        <li key={key} class={`step is-${state}`} aria-current={state === 'current' ? 'step' : undefined}>
          {children ? (
            <details open={isOpen || state === 'current'}>
              <summary>
                {head}
                <Icon name="chevron-down" class="step-arrow" />
              </summary>
              <div class="step-body">{children}</div>
            </details>
          ) : (
            <div class="step-row">{head}</div>
          )}
        </li>
      )
    })}
  </ol>
)
