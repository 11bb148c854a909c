import UPlot from 'uplot'

// The only file that imports uPlot: a chunk of its own.

type Plan = {
  readonly kind: 'line' | 'bars'
  readonly times: readonly number[]
  readonly series: readonly { readonly values: readonly (number | null)[]; readonly tone: string }[]
  readonly formatValue: (value: number) => string
  readonly formatTime: (time: number) => string
  readonly onHover: (index: number | null) => void
}

export type Drawing = { readonly destroy: () => void }

/** A canvas knows no custom properties: an element with the class has the colour of this theme. */
const colourOf = (holder: HTMLElement, name: string): string => {
  const probe = document.createElement('span')
  probe.className = `chart-key ${name}`
  probe.hidden = true
  holder.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Every series plus those below it: bars of one time stand on each other. */
const stacked = (series: Plan['series']): (number | null)[][] => {
  const sums: number[] = []
  return series.map(({ values }) =>
    values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + (value ?? 0)
      return sums[index] ?? 0
    }),
  )
}

const draw = (holder: HTMLElement, plan: Plan): UPlot => {
  const { kind, times, series, formatValue, formatTime, onHover } = plan
  const isBars = kind === 'bars'
  const values = isBars ? stacked(series) : series.map((each) => [...each.values])
  // The tallest bars are drawn first, so that the others remain visible.
  const order = series.map((_, index) => index).sort((a, b) => (isBars ? b - a : a - b))
  const style = getComputedStyle(holder)
  const font = `12px ${style.fontFamily}`
  const [text, line] = [colourOf(holder, 'key-text'), colourOf(holder, 'key-line')]
  const bars = UPlot.paths.bars?.({ size: [0.7, 36], radius: 0.12 })
  const axis = { stroke: text, font, grid: { stroke: line, width: 1 }, ticks: { show: false } }
  return new UPlot(
    {
      width: Math.max(200, holder.clientWidth),
      height: 220,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false, setScale: false }, y: false, points: { show: !isBars } },
      scales: {
        x: {
          time: false,
          ...(isBars
            ? { range: (_: UPlot, least: number, most: number): [number, number] => [least - 0.6, most + 0.6] }
            : {}),
        },
        y: { range: (_, least, most) => [Math.min(0, least), most === 0 ? 1 : most * 1.08] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 72,
          incrs: [1, 2, 3, 6, 7, 12, 14, 24, 28, 60, 90, 120, 180, 360],
          values: (_, splits) => splits.map((index) => (times[index] === undefined ? '' : formatTime(times[index]))),
        },
        { ...axis, size: 56, space: 40, values: (_, splits) => splits.map(formatValue) },
      ],
      series: [
        {},
        ...order.map((index): UPlot.Series => {
          const colour = colourOf(holder, `key-${series[index]?.tone ?? 'accent'}`)
          return {
            stroke: colour,
            width: isBars ? 0 : 1.75,
            // A value without a neighbour has no line.
            points: { show: !isBars && (values[index] ?? []).filter((value) => value !== null).length === 1 },
            ...(isBars && bars ? { fill: colour, paths: bars } : {}),
          }
        }),
      ],
      hooks: { setCursor: [({ cursor }) => onHover(cursor.idx ?? null)] },
    },
    [times.map((_, index) => index), ...order.map((index) => values[index] ?? [])],
    holder,
  )
}

/** Draws a chart, and again when the theme or the width changes. Positions are indexes: gaps in time have no room. */
export const drawChart = (holder: HTMLElement, plan: Plan): Drawing => {
  let plot = draw(holder, plan)
  const redraw = () => {
    plot.destroy()
    plot = draw(holder, plan)
  }
  const resized = new ResizeObserver(() => {
    if (holder.clientWidth > 0 && holder.clientWidth !== plot.width)
      plot.setSize({ width: holder.clientWidth, height: 220 })
  })
  resized.observe(holder)
  const themed = new MutationObserver(redraw)
  themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const dark = matchMedia('(prefers-color-scheme: dark)')
  dark.addEventListener('change', redraw)
  return {
    destroy: () => {
      resized.disconnect()
      themed.disconnect()
      dark.removeEventListener('change', redraw)
      plot.destroy()
    },
  }
}
