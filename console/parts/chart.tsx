import { useEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/en/parts.ts'
import * as format from '../words/format.ts'
import { Button } from './button.tsx'
import type { Drawing } from './chart-drawing.ts'
import { classes } from './classes.ts'

export type ChartSeries = {
  readonly name: string
  /** One value for each time; null where there is none. */
  readonly values: readonly (number | null)[]
  readonly tone?: 'accent' | 'good' | 'notice' | 'bad' | 'info' | 'neutral'
}

export type ChartProps = {
  readonly title: string
  /** The content of the chart in a sentence: screen readers read it in the place of the picture. */
  readonly sentence: string
  /** Lines, or bars that are stacked. */
  readonly kind: 'line' | 'bars'
  /** Milliseconds since 1970, in order. */
  readonly times: readonly number[]
  readonly series: readonly ChartSeries[]
  readonly formatValue?: (value: number) => string
  readonly formatTime?: (time: number) => string
  /** The list behind a time. */
  readonly hrefOf?: (time: number) => string
}

/** Follows a link as a click does, so that the router sees it. */
const follow = (href: string): void => {
  const link = document.createElement('a')
  link.href = href
  document.body.append(link)
  link.click()
  link.remove()
}

const tones = ['accent', 'info', 'good', 'notice', 'bad', 'neutral'] as const

/** A chart with its sentence and its table. uPlot (23 KB) is loaded when the first chart is on the page. */
export const Chart = (props: ChartProps) => {
  const {
    title,
    sentence,
    kind,
    times,
    series,
    formatValue = format.number,
    formatTime = format.shortDay,
    hrefOf,
  } = props
  const holder = useRef<HTMLDivElement>(null)
  const [isTable, setTable] = useState(false)
  const [isFailed, setFailed] = useState(false)
  const [hovered, setHovered] = useState<number | null>(null)
  const toned = series.map((each, index) => ({ ...each, tone: each.tone ?? tones[index % tones.length] ?? 'accent' }))
  const latest = useRef({ formatValue, formatTime, toned })
  latest.current = { formatValue, formatTime, toned }
  // Callers make new arrays and functions at each render: only other data is drawn again.
  const data = JSON.stringify([kind, times, series])

  useEffect(() => {
    const element = holder.current
    if (isTable || !element) return
    let drawing: Drawing | undefined
    let isGone = false
    import('./chart-drawing.ts')
      .then(({ drawChart }) => {
        if (isGone) return
        drawing = drawChart(element, {
          kind,
          times,
          series: latest.current.toned,
          formatValue: (value) => latest.current.formatValue(value),
          formatTime: (time) => latest.current.formatTime(time),
          onHover: setHovered,
        })
      })
      .catch(() => setFailed(true))
    return () => {
      isGone = true
      drawing?.destroy()
    }
  }, [data, isTable])

  const isTableShown = isTable || isFailed
  const shownValue = (each: ChartSeries, index: number) => {
    const value = each.values[index]
    return value === null || value === undefined ? '–' : formatValue(value)
  }
  const time = hovered === null ? undefined : times[hovered]
  return (
    <figure class="chart">
      <figcaption class="chart-head">
        <div>
          <h3>{title}</h3>
          <p class="chart-sentence">{sentence}</p>
        </div>
        {!isFailed && (
          <Button size="small" kind="quiet" icon={isTable ? 'chart-line' : 'list'} onClick={() => setTable(!isTable)}>
            {isTable ? words.chart.asChart : words.chart.asTable}
          </Button>
        )}
      </figcaption>
      {isTableShown ? (
        <div class="table-holder">
          <table class="table chart-table">
            <caption class="for-readers">{title}</caption>
            <thead>
              <tr>
                <th scope="col">{words.chart.time}</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="is-end">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((each, index) => (
                <tr key={each}>
                  <th scope="row">{hrefOf ? <a href={hrefOf(each)}>{formatTime(each)}</a> : formatTime(each)}</th>
                  {series.map((one) => (
                    <td key={one.name} class="is-end tabular" data-title={one.name}>
                      {shownValue(one, index)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <>
          <ul class="chart-legend" aria-hidden="true">
            {toned.map((each) => (
              <li key={each.name}>
                <span class={classes('chart-key', `key-${each.tone}`)} />
                {each.name}
                {hovered !== null && <b class="tabular">{shownValue(each, hovered)}</b>}
              </li>
            ))}
            {time !== undefined && <li class="soft tabular">{formatTime(time)}</li>}
          </ul>
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the links of the table are the same for the keyboard. */}
          <div
            ref={holder}
            class="chart-picture"
            role="img"
            aria-label={sentence}
            onClick={() => time !== undefined && hrefOf && follow(hrefOf(time))}
          />
        </>
      )}
    </figure>
  )
}
