import { useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/shell.ts'
import { singleKeys } from './choices.ts'
import { isHelpOpen } from './open-palette.ts'
import { capsOf, type Shortcut, shortcuts } from './shell-keys.ts'

const Keys = ({ title, all }: { title: string; all: readonly Shortcut[] }) =>
  all.length === 0 ? null : (
    <section>
      <h3>{title}</h3>
      <dl class="keys">
        {all.map(({ keys, text }) => (
          <div key={keys}>
            <dt>{text()}</dt>
            <dd>
              {capsOf(keys).map((cap) => (
                <kbd key={cap}>{cap}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )

/** The keyboard shortcuts that work now. */
export const Help = () => {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const of = (scope: Shortcut['scope']) =>
    shortcuts.value.filter((shortcut) => !shortcut.isHidden && (shortcut.scope ?? 'page') === scope)
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={() => {
        isHelpOpen.value = false
      }}
    >
      <h2 id="help-title">{words.keys.title}</h2>
      {!singleKeys.value && <p class="soft">{words.keys.off}</p>}
      <Keys title={words.keys.here} all={of('page')} />
      <Keys title={words.keys.everywhere} all={of('everywhere')} />
      <div class="dialog-acts">
        <Button autofocus onClick={() => dialog.current?.close()}>
          {parts.close}
        </Button>
      </div>
    </dialog>
  )
}
