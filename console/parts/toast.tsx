import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import { Icon } from './icon.tsx'
import { type Tone, toneIcons } from './status.tsx'

export type Toast = {
  readonly id: number
  readonly text: string
  readonly tone: Tone
  readonly at: number
  readonly act?: { readonly text: string; readonly onClick: () => void } | undefined
}

/** Toasts on the page. */
const visible = signal<readonly Toast[]>([])

/** The last fifty toasts, newest first: what was shown can be read again. */
export const toastHistory = signal<readonly Toast[]>([])

const shownFor = 10_000
const historyLength = 50
/** Above and below the toasts. */
const gap = 'var(--space-2)'
let lastId = 0

/** Shows a message for ten seconds. For acts without a place on the page; faults of a form belong to the form. */
export const showToast = (text: string, tone: Tone = 'good', act?: Toast['act']): void => {
  lastId += 1
  const toast: Toast = { id: lastId, text, tone, at: Date.now(), act }
  visible.value = [...visible.value, toast].slice(-4)
  toastHistory.value = [toast, ...toastHistory.value].slice(0, historyLength)
}

export const dismissToast = (id: number): void => {
  visible.value = visible.value.filter((toast) => toast.id !== id)
}

/** Counts down while neither the pointer nor the focus is on it. */
const ToastCard = ({ toast }: { toast: Toast }) => {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const stop = () => clearTimeout(timer.current)
  const start = () => {
    stop()
    timer.current = setTimeout(() => dismissToast(toast.id), shownFor)
  }
  useEffect(() => {
    start()
    return stop
  }, [])
  return (
    <li
      class={`toast tone-${toast.tone}`}
      onPointerEnter={stop}
      onPointerLeave={start}
      onFocusIn={stop}
      onFocusOut={start}
    >
      <Icon name={toneIcons[toast.tone]} />
      <span class="toast-text">{toast.text}</span>
      {toast.act && (
        <button
          type="button"
          class="link"
          onClick={() => {
            toast.act?.onClick()
            dismissToast(toast.id)
          }}
        >
          {toast.act.text}
        </button>
      )}
      <button type="button" class="toast-close" onClick={() => dismissToast(toast.id)}>
        <Icon name="x" label={words.dismiss} />
      </button>
    </li>
  )
}

/** The place of toasts: once, in the shell. A manual popover puts it above dialogs. The page gives way: by `--toasts`. */
export const ToastHost = () => {
  const host = useRef<HTMLElement>(null)
  const toasts = visible.value
  useEffect(() => {
    const element = host.current
    if (!element) return
    // Shown again, it is above a dialog that was opened meanwhile.
    if (element.matches(':popover-open')) element.hidePopover()
    if (toasts.length > 0) element.showPopover()
  }, [toasts])
  useEffect(() => {
    const { style } = document.documentElement
    const measure = () => {
      const height = host.current?.offsetHeight ?? 0
      style.setProperty('--toasts', height > 0 ? `calc(${height}px + 2 * ${gap})` : '0px')
    }
    const observer = new ResizeObserver(measure)
    if (host.current) observer.observe(host.current)
    return () => observer.disconnect()
  }, [])
  return (
    <>
      <div class="for-readers" role="status">
        {toasts.at(-1)?.text}
      </div>
      <section ref={host} popover="manual" class="toasts" aria-label={words.toast.region}>
        <ul>
          {toasts.map((toast) => (
            <ToastCard key={toast.id} toast={toast} />
          ))}
        </ul>
      </section>
    </>
  )
}
