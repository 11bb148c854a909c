import { useLocation } from 'preact-iso/router'
import { Button } from '../parts/button.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { words } from '../words/en/logs.ts'

type RawProps = {
  readonly value: unknown
  readonly isOpen: boolean
  /** Addresses of the page with the dialog and without it: Back closes it. */
  readonly opened: string
  readonly closed: string
}

/** The answer of the API, for people who integrate. */
export const RawButton = ({ value, isOpen, opened, closed }: RawProps) => {
  const { route: go } = useLocation()
  return (
    <>
      <Button icon="code-xml" haspopup="dialog" onClick={() => go(opened)}>
        {words.message.raw}
      </Button>
      <Dialog open={isOpen} size="wide" title={words.message.rawTitle} onClose={() => go(closed, true)}>
        <CodeBlock
          label={words.message.rawTitle}
          samples={[{ language: 'JSON', code: JSON.stringify(value, null, 2) }]}
        />
      </Dialog>
    </>
  )
}
