import { useEffect, useRef } from 'preact/hooks'
import { words } from '../words/en/calls.ts'
import { stopwatch } from '../words/format.ts'
import type { Peaks } from './wav.ts'

const drawSide = (
  context: CanvasRenderingContext2D,
  peaks: Float32Array,
  { top, height, width }: { top: number; height: number; width: number },
  share: number,
  colours: readonly [played: string, ahead: string],
) => {
  const step = width / peaks.length
  const middle = top + height / 2
  for (const [index, level] of peaks.entries()) {
    // Speech is quiet: the root shows it without cutting what is loud.
    const half = Math.max(0.5, (Math.sqrt(level) * height) / 2 - 1)
    context.fillStyle = (index + 0.5) / peaks.length <= share ? colours[0] : colours[1]
    context.fillRect(index * step, middle - half, Math.max(1, step - 1), 2 * half)
  }
}

type Props = { readonly peaks: Peaks; readonly share: number; readonly marks: readonly number[] }

/** The loudness of both sides, drawn from the samples. The sides are one above the other. */
export const Waveform = ({ peaks, share, marks }: Props) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (!element || !context) return
    const draw = () => {
      const { clientWidth: width, clientHeight: height } = element
      element.width = width * devicePixelRatio
      element.height = height * devicePixelRatio
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
      // Colours of the theme: the styles set them on these properties.
      const style = getComputedStyle(element)
      const [played, ahead, mark] = [style.color, style.borderTopColor, style.outlineColor]
      const side = height / peaks.channels.length
      for (const [index, channel] of peaks.channels.entries())
        drawSide(context, channel, { top: index * side, height: side, width }, share, [played, ahead])
      context.fillStyle = mark
      for (const at of marks) context.fillRect((at / peaks.seconds) * width - 1, 0, 2, height)
    }
    draw()
    const observer = new ResizeObserver(draw)
    observer.observe(element)
    return () => observer.disconnect()
  }, [peaks, share, marks])
  return (
    <canvas ref={canvas} class="call-wave" role="img" aria-label={words.recording.waveform(stopwatch(peaks.seconds))} />
  )
}
