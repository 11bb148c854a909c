import { correction, generate } from 'lean-qr'
import { useMemo } from 'preact/hooks'

export type QrProps = {
  readonly text: string
  /** The effect of scanning it. */
  readonly label: string
}

/** Modules of white around the code (ISO/IEC 18004, 9.1). */
const quiet = 4

/**
 * A QR code as one SVG path: sharp at every size, and without a style attribute. Dark on light in both themes, because
 * many scanners refuse inverted codes.
 */
export const Qr = ({ text, label }: QrProps) => {
  const { path, size } = useMemo(() => {
    const code = generate(text, { minCorrectionLevel: correction.M })
    const rows: string[] = []
    for (let y = 0; y < code.size; y += 1)
      for (let x = 0; x < code.size; x += 1) if (code.get(x, y)) rows.push(`M${x + quiet} ${y + quiet}h1v1h-1z`)
    return { path: rows.join(''), size: code.size + 2 * quiet }
  }, [text])
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <title>{label}</title>
      <path class="qr-paper" d={`M0 0h${size}v${size}H0z`} />
      <path class="qr-ink" d={path} />
    </svg>
  )
}
