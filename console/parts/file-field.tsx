import { useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import * as format from '../words/format.ts'
import { classes } from './classes.ts'
import { FieldLabel, FieldNotes, type FieldProps, useField } from './field.tsx'
import { Icon } from './icon.tsx'

export type FileProps = FieldProps & {
  /** As in HTML: `.pdf,image/*`. */
  readonly accept: string
  /** Bytes. */
  readonly most: number
  readonly onFile?: (file: File | undefined) => void
}

/** Whether a file has one of the accepted types or endings. */
const isAccepted = ({ name, type }: File, accept: string): boolean =>
  accept.split(',').some((one) => {
    const rule = one.trim().toLowerCase()
    if (rule.startsWith('.')) return name.toLowerCase().endsWith(rule)
    return rule.endsWith('/*') ? type.startsWith(rule.slice(0, -1)) : type === rule
  })

/** A file by the dialog of the browser or by dragging. The native input has the focus and the keyboard. */
export const FileField = ({ accept, most, onFile, ...props }: FileProps) => {
  const input = useRef<HTMLInputElement>(null)
  const [file, setFile] = useState<File>()
  const [fault, setFault] = useState<string>()
  const [isOver, setOver] = useState(false)
  const { id, control, message, clear } = useField({ ...props, error: props.error ?? fault })

  const choose = (next: File | undefined) => {
    clear()
    const problem =
      next && !isAccepted(next, accept)
        ? words.file.wrongType(next.name, format.list(accept.split(','), 'disjunction'))
        : next && next.size > most
          ? words.file.tooBig(next.name, format.bytes(most))
          : undefined
    setFault(problem)
    const valid = problem === undefined ? next : undefined
    if (!valid && input.current) input.current.value = ''
    setFile(valid)
    onFile?.(valid)
  }

  return (
    <div class={classes('field', message !== undefined && 'has-error')}>
      <label for={id} class="field-label">
        <FieldLabel optional={props.optional}>{props.label}</FieldLabel>
      </label>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the input inside is the first. */}
      <div
        class={classes('file-drop', isOver && 'is-over')}
        onDragOver={(event) => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault()
          setOver(false)
          const dropped = event.dataTransfer?.files
          if (!dropped?.[0]) return
          if (input.current) input.current.files = dropped
          choose(dropped[0])
        }}
      >
        <input
          ref={input}
          type="file"
          class="file-input"
          accept={accept}
          {...control}
          onChange={({ currentTarget }) => choose(currentTarget.files?.[0])}
        />
        <Icon name={file ? 'file' : 'upload'} />
        {file ? (
          <>
            <span class="cut" dir="auto">
              {file.name}
            </span>
            <span class="soft nowrap">{format.bytes(file.size)}</span>
            <span class="file-act">{words.file.replace}</span>
          </>
        ) : (
          <span>
            <span class="file-act">{words.file.choose}</span> <span class="soft">{words.file.drop}</span>
          </span>
        )}
      </div>
      <FieldNotes id={id} hint={props.hint} message={message} />
    </div>
  )
}
