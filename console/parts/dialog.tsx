import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import { Button } from './button.tsx'
import { isComposing } from './composing.ts'
import { Icon } from './icon.tsx'

export type DialogProps = {
  readonly open: boolean
  /** Called by Escape, the close button and a click outside. */
  readonly onClose: () => void
  readonly title: string
  readonly children: ComponentChildren
  readonly actions?: ComponentChildren
  readonly size?: 'small' | 'normal' | 'wide'
}

type Props = DialogProps & { readonly shape: 'dialog' | 'drawer' }

/** A native modal dialog: the browser holds the focus inside and returns it to the opener. */
const Modal = ({ open, onClose, title, children, actions, size = 'normal', shape }: Props) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  // Before the next key is read: what is typed while a dialog opens or closes is meant for what follows.
  useLayoutEffect(() => {
    const element = dialog.current
    if (open && element && !element.open) element.showModal()
    if (!open && element?.open) element.close()
  }, [open])
  // A dialog that goes away while it is open gives the focus back too, as the browser does after closing.
  const isGone = useRef(false)
  useLayoutEffect(() => {
    const element = dialog.current
    return () => {
      isGone.current = true
      element?.close()
    }
  }, [])

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on the backdrop; Escape is its key.
    <dialog
      ref={dialog}
      class={`${shape} ${shape}-${size}`}
      aria-labelledby={titleId}
      onClose={() => open && !isGone.current && onClose()}
      onCancel={(event) => {
        // A file input inside has a cancel event of its own, which bubbles.
        if (event.target !== dialog.current) return
        event.preventDefault()
        onClose()
      }}
      onClick={({ target, currentTarget }) => target === currentTarget && onClose()}
    >
      {open && (
        <div class="dialog-frame">
          <header class="dialog-head">
            <h2 id={titleId}>{title}</h2>
            <button type="button" class="dialog-close" onClick={onClose}>
              <Icon name="x" label={words.close} />
            </button>
          </header>
          <div class="dialog-body">{children}</div>
          {actions && <footer class="dialog-foot">{actions}</footer>}
        </div>
      )}
    </dialog>
  )
}

export const Dialog = (props: DialogProps) => <Modal {...props} shape="dialog" />

/** A dialog at the end of the line: for details and forms beside a list. */
export const Drawer = (props: DialogProps) => <Modal {...props} shape="drawer" />

export type ConfirmProps = {
  readonly open: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
  readonly title: string
  readonly children: ComponentChildren
  /** The verb of the act: `Release the number`. */
  readonly act: string
  readonly danger?: boolean
  readonly busy?: boolean
  /** A text that must be typed first, for what cannot be undone. Spaces do not count. */
  readonly typed?: string | undefined
  readonly error?: string | undefined
}

const bare = (text: string): string => text.replace(/\s+/g, '').toLowerCase()

/** Asks before an act that is costly to undo. The safe button has the focus first. */
export const ConfirmDialog = (props: ConfirmProps) => {
  const { open, onClose, onConfirm, title, children, act, danger = false, busy = false, typed, error } = props
  const [text, setText] = useState('')
  const [inputId, errorId] = [useId(), useId()]
  useEffect(() => setText(''), [open])
  const isBlocked = typed !== undefined && bare(text) !== bare(typed)
  const confirm = () => {
    if (!isBlocked && !busy) onConfirm()
  }
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      size="small"
      actions={
        <>
          <Button onClick={onClose} autofocus={typed === undefined}>
            {words.cancel}
          </Button>
          <Button
            kind={danger ? 'danger' : 'primary'}
            busy={busy}
            reason={isBlocked ? words.confirmDialog.mismatch : undefined}
            onClick={confirm}
          >
            {act}
          </Button>
        </>
      }
    >
      <div class="stack">
        <div>{children}</div>
        {typed !== undefined && (
          <div class="field">
            <label class="field-label" for={inputId}>
              {words.confirmDialog.type(typed)}
            </label>
            <span class="input-box">
              <input
                id={inputId}
                class="input"
                dir="ltr"
                autocomplete="off"
                autofocus
                value={text}
                aria-describedby={error === undefined ? undefined : errorId}
                onInput={({ currentTarget }) => setText(currentTarget.value)}
                onKeyDown={(event) => event.key === 'Enter' && !isComposing(event) && confirm()}
              />
            </span>
          </div>
        )}
        {error !== undefined && (
          <p class="field-error" id={errorId} role="alert">
            <Icon name="circle-alert" />
            <span>{error}</span>
          </p>
        )}
      </div>
    </Dialog>
  )
}
