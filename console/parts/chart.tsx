import type { RefObject } from 'preact'
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

type Formats = Required<Pick<ChartProps, 'formatValue' | 'formatTime'>>

type DrawingProps = Formats &
  Pick<ChartProps, 'kind' | 'times'> & {
    readonly series: readonly (ChartSeries & { readonly tone: (typeof tones)[number] })[]
    readonly isHidden: boolean
  }

const shownValue = ({ values }: ChartSeries, index: number, formatValue: Formats['formatValue']): string => {
  const value = values[index]
  return value === null || value === undefined ? '–' : formatValue(value)
}

const ChartTable = ({ title, times, series, formatValue, formatTime, hrefOf }: ChartProps & Formats) => (
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
        {times.map((time, index) => (
          <tr key={time}>
            <th scope="row">{hrefOf ? <a href={hrefOf(time)}>{formatTime(time)}</a> : formatTime(time)}</th>
            {series.map((each) => (
              <td key={each.name} class="is-end tabular" data-title={each.name}>
                {shownValue(each, index, formatValue)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

/** Draws the chart into an element. Returns the index of the time under the pointer. */
const useDrawing = (
  holder: RefObject<HTMLDivElement | null>,
  props: DrawingProps,
  onFail: () => void,
): number | null => {
  const { kind, times, series, isHidden } = props
  const [hovered, setHovered] = useState<number | null>(null)
  const latest = useRef(props)
  latest.current = props
  // Callers make new arrays and functions at each render: only other data is drawn again.
  const data = JSON.stringify([kind, times, series])

  useEffect(() => {
    const element = holder.current
    if (isHidden || !element) return
    let drawing: Drawing | undefined
    let isGone = false
    import('./chart-drawing.ts')
      .then(({ drawChart }) => {
        if (isGone) return
        drawing = drawChart(element, {
          kind,
          times,
          series: latest.current.series,
          formatValue: (value) => latest.current.formatValue(value),
          formatTime: (time) => latest.current.formatTime(time),
          onHover: setHovered,
        })
      })
      .catch(onFail)
    return () => {
      isGone = true
      drawing?.destroy()
    }
  }, [data, isHidden])
  return hovered
}

/** A chart with its sentence and its table. uPlot (23 KB) is loaded when the first chart is on the page. */
export const Chart = (props: ChartProps) => {
  const { title, sentence, kind, times, series, hrefOf } = props
  const { formatValue = format.number, formatTime = format.shortDay } = props
  const holder = useRef<HTMLDivElement>(null)
  const [isTable, setTable] = useState(false)
  const [isFailed, setFailed] = useState(false)
  const toned = series.map((each, index) => ({ ...each, tone: each.tone ?? tones[index % tones.length] ?? 'accent' }))
  const drawing = { kind, times, series: toned, formatValue, formatTime, isHidden: isTable }
  const hovered = useDrawing(holder, drawing, () => setFailed(true))
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
      {isTable || isFailed ? (
        <ChartTable {...props} formatValue={formatValue} formatTime={formatTime} />
      ) : (
        <>
          <ul class="chart-legend" aria-hidden="true">
            {toned.map((each) => (
              <li key={each.name}>
                <span class={classes('chart-key', `key-${each.tone}`)} />
                {each.name}
                {hovered !== null && <b class="tabular">{shownValue(each, hovered, formatValue)}</b>}
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
