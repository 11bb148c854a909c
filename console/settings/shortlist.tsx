import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/errors.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { words as parts } from '../words/en/parts.ts'

type FormDialogProps = {
  readonly title: string
  readonly act: string
  readonly onClose: () => void
  /** @throws ApiError for a refusal, which is shown at its field */
  readonly onSave: () => Promise<unknown>
  readonly children: ComponentChildren
}

/** A short form in a dialog: it closes once its act has succeeded. */
export const FormDialog = ({ title, act, onClose, onSave, children }: FormDialogProps) => {
  const [refusal, setRefusal] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const save = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      await onSave()
      onClose()
    } catch (thrown) {
      setRefusal(asApiError(thrown))
      setBusy(false)
    }
  }
  return (
    <Dialog
      open
      size="small"
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{parts.cancel}</Button>
          <Button kind="primary" type="submit" form="short-form" busy={isBusy}>
            {act}
          </Button>
        </>
      }
    >
      <Form id="short-form" onSubmit={() => void save()} refusal={refusal}>
        {children}
      </Form>
    </Dialog>
  )
}

type RemoveProps = {
  readonly title: string
  readonly act: string
  readonly why: string
  readonly onClose: () => void
  readonly onRemove: () => Promise<unknown>
}

/** Asks before something is deleted. */
export const RemoveDialog = ({ title, act, why, onClose, onRemove }: RemoveProps) => {
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const remove = async () => {
    setBusy(true)
    try {
      await onRemove()
      onClose()
    } catch (thrown) {
      setError(asApiError(thrown).message)
      setBusy(false)
    }
  }
  return (
    <ConfirmDialog
      open
      danger
      title={title}
      act={act}
      busy={isBusy}
      error={error}
      onClose={onClose}
      onConfirm={() => void remove()}
    >
      <p>{why}</p>
    </ConfirmDialog>
  )
}
