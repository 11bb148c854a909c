import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

export type ListProps<Row> = {
  readonly label: string
  readonly rows: readonly Row[]
  /** Rows on the server, when not all are loaded. */
  readonly total?: number
  readonly rowKey: (row: Row) => string
  /** Pixels; every row has the same. */
  readonly rowHeight: number
  readonly row: (row: Row, isCurrent: boolean) => ComponentChildren
  readonly current?: string | undefined
  /** Called when the last rows come into view, or near it while the person scrolls. */
  readonly onEnd?: (() => void) | undefined
}

/** Rows above and below the window: a fast wheel shows no blank rows. */
const spare = 8

/** Rows before the end at which more are read while the person scrolls. */
const ahead = 100

/**
 * A window on many rows of one height. Only rows in view are in the document; screen readers learn the position of each
 * by `aria-setsize` and `aria-posinset`. Rows contain the links or buttons that have the focus.
 */
export const List = <Row,>({ label, rows, total, rowKey, rowHeight, row, current, onEnd }: ListProps<Row>) => {
  const holder = useRef<HTMLElement>(null)
  const content = useRef<HTMLUListElement>(null)
  const [view, setView] = useState({ first: 0, count: 20 })
  const end = useRef(onEnd)
  end.current = onEnd

  useLayoutEffect(() => {
    const element = holder.current
    if (!element) return
    const measure = () => {
      const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - spare)
      // One more: the first and the last row in view may both be cut.
      const count = Math.ceil(element.clientHeight / rowHeight) + 1 + 2 * spare
      setView((before) => (before.first === first && before.count === count ? before : { first, count }))
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.onscroll = measure
    // The browser would glide over thousands of rows, too fast to draw any.
    element.onkeydown = (event) => {
      const top = { Home: 0, End: element.scrollHeight }[event.key]
      if (top === undefined) return
      event.preventDefault()
      element.scrollTop = top
    }
    return () => observer.disconnect()
  }, [rowHeight])

  const last = Math.min(rows.length, view.first + view.count)
  // The first page alone leads to no other request.
  const isNearEnd = last + (view.first > 0 ? ahead : 0) >= rows.length
  useEffect(() => {
    if (isNearEnd && rows.length > 0) end.current?.()
  }, [isNearEnd, rows.length])

  // Properties of the element, set by script: the policy forbids style attributes.
  useLayoutEffect(() => {
    content.current?.style.setProperty('block-size', `${rows.length * rowHeight}px`)
    content.current?.style.setProperty('padding-block-start', `${view.first * rowHeight}px`)
    content.current?.style.setProperty('--list-row', `${rowHeight}px`)
  }, [rows.length, rowHeight, view.first])

  const currentIndex = current === undefined ? -1 : rows.findIndex((each) => rowKey(each) === current)
  const followed = useRef({ current, index: currentIndex })
  useEffect(() => {
    const element = holder.current
    const { current: before, index } = followed.current
    followed.current = { current, index: currentIndex }
    if (!element || currentIndex < 0) return
    // Rows that come in above do not move the list away from where the person looks, except from the focus.
    const isPushed = before === current && index >= 0 && currentIndex > index
    if (isPushed && !element.contains(document.activeElement)) return
    const top = currentIndex * rowHeight
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight
  }, [current, currentIndex, rowHeight])

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section ref={holder} class="list" aria-label={label} tabIndex={0}>
      <ul ref={content} class="list-rows">
        {rows.slice(view.first, last).map((each, index) => {
          const key = rowKey(each)
          return (
            <li key={key} aria-setsize={total ?? rows.length} aria-posinset={view.first + index + 1}>
              {row(each, key === current)}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
