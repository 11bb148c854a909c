import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api/errors.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { RequestId } from '../parts/values.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/start.ts'
import { type Example, samplesOf } from './samples.ts'

type RequestProps = {
  readonly label: string
  readonly example: Example
  /** The verb of the button. */
  readonly act: string
  readonly onRun: () => void
  readonly busy: boolean
  readonly error: ApiError | null
  /** The last answer of this page. */
  readonly answer?: unknown
  /** Why it cannot be sent now. */
  readonly reason?: string | undefined
  readonly isDone?: boolean
  readonly children?: ComponentChildren
}

/** A request as code, a button that sends this very request, and its answer. */
export const Request = ({
  label,
  example,
  act,
  onRun,
  busy,
  error,
  answer,
  reason,
  isDone,
  children,
}: RequestProps) => (
  <div class="stack">
    <CodeBlock label={label} samples={samplesOf(example)} />
    <div class="row">
      <Button kind={isDone ? 'plain' : 'primary'} icon="play" busy={busy} reason={reason} onClick={onRun}>
        {act}
      </Button>
      {children}
    </div>
    {error && (
      <Banner tone="bad">
        <p>{error.message}</p>
        {error.requestId && <RequestId id={error.requestId} />}
      </Banner>
    )}
    {answer !== undefined && (
      <div class="start-answer">
        <CodeBlock
          label={words.answer(label)}
          samples={[{ language: parts.code.response, code: JSON.stringify(answer, null, 2) }]}
        />
      </div>
    )}
  </div>
)
