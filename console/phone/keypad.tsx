import { useLayoutEffect, useRef } from 'preact/hooks'
import { words } from '../words/en/phone.ts'

const letters: Readonly<Record<string, string>> = {
  2: 'ABC',
  3: 'DEF',
  4: 'GHI',
  5: 'JKL',
  6: 'MNO',
  7: 'PQRS',
  8: 'TUV',
  9: 'WXYZ',
  0: '+',
}

type Props = {
  readonly onKey: (key: string) => void
  /** Digits of the keyboard are keys too while the pad has the focus. */
  readonly takesKeys?: boolean
}

/** The twelve keys of a telephone. */
export const Keypad = ({ onKey, takesKeys = false }: Props) => {
  const first = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    if (takesKeys) first.current?.focus()
  }, [takesKeys])
  return (
    <fieldset
      class="keypad"
      onKeyDown={(event) => {
        if (!takesKeys || !/^[0-9*#]$/.test(event.key) || event.ctrlKey || event.altKey || event.metaKey) return
        event.preventDefault()
        event.stopPropagation()
        onKey(event.key)
      }}
    >
      <legend class="for-readers">{words.keypad}</legend>
      {[...'123456789*0#'].map((key) => (
        <button key={key} type="button" ref={key === '1' ? first : null} class="keypad-key" onClick={() => onKey(key)}>
          <span>{key}</span>
          <small aria-hidden="true">{letters[key] ?? ' '}</small>
        </button>
      ))}
    </fieldset>
  )
}
